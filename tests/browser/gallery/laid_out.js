// Keeps what the layout's worker answers last, as lines of points, for tests.
(() => {
  const Started = window.Worker;
  window.Worker = new Proxy(Started, {
    construct: (target, given) => {
      const worker = Reflect.construct(target, given);
      worker.addEventListener("message", ({ data }) => {
        if (data.kind !== "laid") return;
        const { starts, points } = data;
        const pointAt = (at) => [points[2 * at], points[2 * at + 1]];
        window.laidOut = Array.from({ length: starts.length - 1 }, (_, edge) =>
          Array.from({ length: starts[edge + 1] - starts[edge] }, (_, i) =>
            pointAt(starts[edge] + i),
          ),
        );
      });
      return worker;
    },
  });
})();
