// Notes what is painted on the drawing's canvas, independent of how the panel says it is laid out.
// window.gallery.measure() gives the texts and lines of the last whole frame, in CSS pixels.

(() => {
  const LINES = new Set(["#8d96a5", "#c9ced6", "#3056d3", "#e6007e", "#76808f", "#3d444e", "#7ea2ff", "#ff2d95"]);
  const kind = CanvasRenderingContext2D.prototype;
  const noted = new WeakMap();
  const of = (context) => {
    if (context.canvas.dataset?.testid !== "canvas") return undefined;
    if (!noted.has(context)) noted.set(context, { operations: [], path: [], rects: [], simple: true });
    return noted.get(context);
  };
  const hook = (name, before) => {
    const original = kind[name];
    kind[name] = function (...given) {
      const notes = of(this);
      if (notes !== undefined) before(notes, this, ...given);
      return original.apply(this, given);
    };
  };
  const onScreen = (context, x, y) => {
    const { a, d, e, f } = context.getTransform();
    return { x: (a * x + e) / devicePixelRatio, y: (d * y + f) / devicePixelRatio };
  };
  const rectOn = (context, x, y, width, height) => {
    const [from, to] = [onScreen(context, x, y), onScreen(context, x + width, y + height)];
    return { x: from.x, y: from.y, width: to.x - from.x, height: to.y - from.y };
  };
  const covers = (notes, context, rect) => {
    if (context.globalAlpha < 1 || typeof context.fillStyle !== "string" || !/^#[0-9a-f]{6}$/.test(context.fillStyle)) return;
    notes.operations.push({ kind: "cover", rect });
  };
  hook("beginPath", (notes) => Object.assign(notes, { path: [], rects: [], simple: true }));
  hook("moveTo", (notes, context, x, y) => {
    if (notes.path.length > 0) notes.simple = false;
    notes.path.push(onScreen(context, x, y));
  });
  hook("lineTo", (notes, context, x, y) => notes.path.push(onScreen(context, x, y)));
  hook("quadraticCurveTo", (notes, context, cx, cy, x, y) => notes.path.push(onScreen(context, cx, cy), onScreen(context, x, y)));
  hook("closePath", (notes) => (notes.simple = false));
  hook("arc", (notes) => (notes.simple = false));
  for (const name of ["roundRect", "rect"])
    hook(name, (notes, context, x, y, width, height) => {
      notes.simple = false;
      notes.rects.push(rectOn(context, x, y, width, height));
    });
  hook("stroke", (notes, context) => {
    if (notes.simple && notes.path.length > 1 && LINES.has(context.strokeStyle)) notes.operations.push({ kind: "line", path: notes.path });
  });
  hook("fill", (notes, context) => {
    if (notes.rects.length === 1) covers(notes, context, notes.rects[0]);
  });
  hook("fillRect", (notes, context, x, y, width, height) => {
    const rect = rectOn(context, x, y, width, height);
    if (rect.width >= context.canvas.clientWidth - 1 && rect.height >= context.canvas.clientHeight - 1) notes.operations = [];
    covers(notes, context, rect);
  });
  hook("fillText", (notes, context, text, x, y) => {
    const size = Number(/([\d.]+)px/.exec(context.font)[1]);
    const { width } = context.measureText(text);
    const left = context.textAlign === "center" ? x - width / 2 : context.textAlign === "right" ? x - width : x;
    const { a } = context.getTransform();
    const rect = rectOn(context, left, y - 0.4 * size, width, 0.8 * size);
    notes.operations.push({ kind: "text", text: String(text), px: (size * a) / devicePixelRatio, rect });
  });

  const luminance = (r, g, b) => {
    const linear = (part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  // Between the most frequent color behind a text and the color farthest from it.
  const contrastIn = (context, { x, y, width, height }) => {
    const ratio = devicePixelRatio;
    const { data } = context.getImageData(Math.round(x * ratio), Math.round(y * ratio), Math.max(1, width * ratio), Math.max(1, height * ratio));
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const key = (data[i] << 16) | (data[i + 1] << 8) | data[i + 2];
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const light = (key) => luminance(key >> 16, (key >> 8) & 255, key & 255);
    const back = light([...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0]);
    let most = 1;
    for (const key of counts.keys()) {
      const [low, high] = [light(key), back].sort((p, q) => p - q);
      most = Math.max(most, (high + 0.05) / (low + 0.05));
    }
    return most;
  };
  const meets = (rect, a, b) => {
    const [left, right] = [Math.min(a.x, b.x), Math.max(a.x, b.x)];
    const [top, bottom] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
    return left < rect.x + rect.width - 1 && right > rect.x + 1 && top < rect.y + rect.height - 1 && bottom > rect.y + 1;
  };
  const holds = (outer, inner) =>
    outer.x <= inner.x + 1 &&
    outer.y <= inner.y + 1 &&
    outer.x + outer.width >= inner.x + inner.width - 1 &&
    outer.y + outer.height >= inner.y + inner.height - 1;

  window.gallery = {
    measure() {
      const canvas = document.querySelector("canvas[data-testid=canvas]");
      const context = canvas.getContext("2d");
      const { operations } = noted.get(context);
      const within = { x: 0, y: 0, width: canvas.clientWidth, height: canvas.clientHeight };
      const texts = operations.flatMap((one, at) => (one.kind === "text" && holds(within, one.rect) ? [{ ...one, at }] : []));
      const lines = operations.flatMap((one, at) => (one.kind === "line" ? [{ ...one, at }] : []));
      const struck = texts.filter(({ rect, at }) =>
        lines.some((line) => {
          if (!line.path.some((point, i) => i > 0 && meets(rect, line.path[i - 1], point))) return false;
          return line.at > at || !operations.slice(line.at, at).some((one) => one.kind === "cover" && holds(one.rect, rect));
        }),
      );
      return {
        width: canvas.clientWidth,
        height: canvas.clientHeight,
        camera: canvas.dataset.camera.split(",").map(Number),
        texts: texts.map(({ text, px, rect }) => ({ text, px, rect, contrast: contrastIn(context, rect) })),
        struck: struck.map(({ text }) => text),
        lines: lines.map(({ path }) => path.map(({ x, y }) => [x, y])),
      };
    },
  };
})();
