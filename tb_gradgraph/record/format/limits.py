"""Version and limits of the stored form; FORMAT.md states the same numbers."""

FORMAT_VERSION = 1

#: TensorBoard's data server refuses answers above 256 MiB, so no payload may come near it.
MAX_PAYLOAD_BYTES = 192 * 2**20
#: A payload that is one zlib stream, after decompression.
MAX_MESSAGE_BYTES = 64 * 2**20
#: All numbers of one chunk together, after decompression.
MAX_CHUNK_BYTES = 512 * 2**20

MAX_HEADER_BYTES = 256
MAX_TEXT_BYTES = 2**16
MAX_TAG_BYTES = 1024
#: A graph's nodes, slots, edges, scopes, sizes, aliases and texts together.
MAX_GRAPH_ENTRIES = 2_000_000
#: A graph's slots and edges together, and so the rows of a segment.
MAX_ROWS = 1_000_000
#: A segment's records times its rows.
MAX_NUMBERS = 2**26
#: All segments of a chunk together.
MAX_RECORDS = 2**16
MAX_SEGMENTS = 2**12
MAX_COLUMNS = 64
MAX_WHOLE = 2**20
MAX_RANK = 64
#: How many records of one run a reader lists.
MAX_RUN_RECORDS = 2**20
#: How many bytes of whole tensors ``read_logdir`` returns for one run.
MAX_RUN_WHOLE_BYTES = 2**30
