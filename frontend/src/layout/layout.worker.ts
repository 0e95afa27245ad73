// ELK's own message loop; importing it in a worker starts it.
import "elkjs/lib/elk-worker.min.js";
