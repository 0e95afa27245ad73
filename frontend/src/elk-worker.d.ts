declare module "elkjs/lib/elk-worker.min.js" {
  interface Message {
    readonly id: number;
    readonly cmd: string;
    readonly algorithms?: readonly string[];
    readonly graph?: object;
  }
  export class Worker {
    readonly dispatcher: { dispatch(event: { readonly data: Message }): void };
    onmessage: () => void;
  }
}
