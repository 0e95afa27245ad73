import { defineConfig } from "vite";

// index.js keeps its name (TensorBoard imports it by name, never cached), and so does standalone.js, which
// exported files hold; all else carries a hash of its content and is cached for ever.
export default defineConfig({
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
