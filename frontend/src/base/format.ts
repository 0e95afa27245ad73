// How numbers are written everywhere in the panel.

const MINUS = "\u2212";

// Four significant digits; scientific outside 1e-3..1e5; NaN and infinities as themselves.
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (value === Infinity) return "+∞";
  if (value === -Infinity) return `${MINUS}∞`;
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e-3 && size < 1e5 ? trimZeros(plain(size)) : scientific(size);
  return value < 0 ? MINUS + text : text;
}

function plain(size: number): string {
  if (Number.isInteger(size)) return String(size);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  return size.toFixed(Math.min(digits, 6));
}

function scientific(size: number): string {
  const [mantissa = "", exponent = ""] = size.toExponential(2).split("e");
  const power = exponent.startsWith("-") ? MINUS + exponent.slice(1) : exponent.slice(1);
  return `${trimZeros(mantissa)}e${power}`;
}

function trimZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// For machines (data attributes): ASCII, six significant digits, "NaN", "Infinity".
export function plainNumber(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(6))) : String(value);
}

export function formatCount(value: number): string {
  return value.toLocaleString("en-US");
}

// 12345678 -> "12.3M", for numbers of parameters.
export function formatAmount(value: number): string {
  const units: readonly [number, string][] = [
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  for (const [size, unit] of units) {
    if (value >= size) return trimZeros((value / size).toFixed(value >= 100 * size ? 0 : 1)) + unit;
  }
  return String(value);
}

// In torch's notation, so that it does not look like numbers of the gradient.
export function formatShape(shape: readonly number[]): string {
  return shape.length === 0 ? "scalar" : `[${shape.join(", ")}]`;
}

// "/home/me/net/src/net.py:12 in forward" -> "src/net.py:12 in forward": short enough; the tooltip has the whole path.
export function shortenPaths(text: string): string {
  return text.replace(/(?:[A-Za-z]:)?[\\/](?:[^\\/\n(),]+[\\/])+([^\\/\n(),]+[\\/][^\\/\n(),]+:\d)/g, "$1");
}

// Cuts text in the middle, where qualified names differ least.
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.ceil((limit - 1) * 0.45);
  return `${text.slice(0, head)}…${text.slice(text.length - (limit - 1 - head))}`;
}
