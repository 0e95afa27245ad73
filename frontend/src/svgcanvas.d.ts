// Types of what is used of svgcanvas, which comes without types.

declare module "svgcanvas" {
  export class Context {
    constructor(options: { readonly width: number; readonly height: number });
    getSerializedSvg(fixNamedEntities: boolean): string;
  }
}
