import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

// d3-zoom can also follow a transition, which would bring code for times, eases and colors that nothing here uses.
const noTransition = fileURLToPath(new URL("src/draw/camera/no_transition.ts", import.meta.url));

// Without style sheets and preloads of its own, an import() needs no help: 0.9 kB.
const plainImports: Plugin = {
  name: "plain-imports",
  enforce: "pre",
  load: (id) => (id === "\0vite/preload-helper.js" ? "export const __vitePreload = (load) => load();" : undefined),
};

// index.js keeps its name (TensorBoard imports it by name, never cached), and so does standalone.js, which
// exported files hold; all else carries a hash of its content and is cached for ever.
export default defineConfig({
  plugins: [plainImports],
  resolve: { alias: { "d3-transition": noTransition, "d3-interpolate": noTransition } },
  base: "./",
  publicDir: false,
  worker: { format: "es", rolldownOptions: { output: { entryFileNames: "[name]-[hash].js" } } },
  build: {
    outDir: "../tb_gradgraph/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { index: "src/index.ts", standalone: "src/standalone.ts" },
      preserveEntrySignatures: "strict",
      output: {
        format: "es",
        entryFileNames: "[name].js",
        chunkFileNames: "[name]-[hash].js",
        assetFileNames: "[name]-[hash][extname]",
        minify: true,
      },
    },
  },
});
