// Of svgcanvas, which comes without types, what is used.

declare module "svgcanvas" {
  export class Context {
    constructor(options: { readonly width: number; readonly height: number });
    getSerializedSvg(fixNamedEntities: boolean): string;
  }
}
