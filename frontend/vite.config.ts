import { defineConfig, type Plugin } from "vite";

// d3-scale-chromatic makes all its scales when it is loaded, which no bundler dares to leave out: 7 kB of
// scales that are not used. Each is marked as having no effect but its value.
const unusedScales: Plugin = {
  name: "unused-scales",
  transform: (code, id) => {
    if (!id.includes("d3-scale-chromatic")) return undefined;
    return code.replace(/^var (\S+) = ((?:new Array|\w[\w$]*\()[^;=]*);$/gm, "var $1 = /*#__PURE__*/ (() => $2)();");
  },
};

// Without style sheets and preloads of its own, an import() needs no help: 0.9 kB.
const plainImports: Plugin = {
  name: "plain-imports",
  enforce: "pre",
  load: (id) => (id === "\0vite/preload-helper.js" ? "export const __vitePreload = (load) => load();" : undefined),
};

// index.js keeps its name (TensorBoard imports it by name, never cached), and so does standalone.js, which
// exported files hold; all else carries a hash of its content and is cached for ever.
export default defineConfig({
  plugins: [unusedScales, plainImports],
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
