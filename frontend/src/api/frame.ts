// Reads a frame: a JSON header and little-endian arrays (http_api.md).

import { failure, success, type Result } from "../base/result";
import type { ArrayHeader } from "./contract";

export type FrameArray = Float64Array | Float32Array | Uint16Array | Uint8Array;

export interface Frame<H> {
  readonly header: H;
  readonly arrays: ReadonlyMap<string, FrameArray>;
}

const BYTES = { float64: 8, float32: 4, uint16: 2, uint8: 1 } as const;

// Lengths are checked before use. A truncated frame gives a failure and does not throw.
export function parseFrame<H>(buffer: ArrayBuffer): Result<Frame<H>> {
  if (buffer.byteLength < 4) return failure(`The answer holds ${buffer.byteLength} bytes; a frame has at least 4.`);
  const headerEnd = 4 + new DataView(buffer).getUint32(0, true);
  if (headerEnd > buffer.byteLength) return failure("The answer ends within the header of its frame.");
  let header: H & { readonly arrays?: readonly ArrayHeader[] };
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, headerEnd - 4)));
  } catch {
    return failure("The header of the frame is not JSON.");
  }
  return parseArrays(buffer, headerEnd, header);
}

function parseArrays<H>(buffer: ArrayBuffer, start: number, header: H & { readonly arrays?: readonly ArrayHeader[] }): Result<Frame<H>> {
  const arrays = new Map<string, FrameArray>();
  let offset = start;
  for (const { name, dtype, shape } of header.arrays ?? []) {
    const length = shape.reduce((product, size) => product * size, 1);
    const bytes = length * BYTES[dtype];
    if (!Number.isSafeInteger(length) || offset + bytes > buffer.byteLength) {
      return failure(`The frame ends within its array "${name}".`);
    }
    arrays.set(name, view(buffer, offset, dtype, length));
    offset += Math.ceil(bytes / 8) * 8;
  }
  return success({ header, arrays });
}

// Every machine that runs a browser is little-endian, so the arrays need no copy.
function view(buffer: ArrayBuffer, offset: number, dtype: ArrayHeader["dtype"], length: number): FrameArray {
  if (dtype === "float64") return new Float64Array(buffer, offset, length);
  if (dtype === "float32") return new Float32Array(buffer, offset, length);
  if (dtype === "uint16") return new Uint16Array(buffer, offset, length);
  return new Uint8Array(buffer, offset, length);
}
