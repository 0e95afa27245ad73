import { existsSync } from "node:fs";
import { playwright } from "@vitest/browser-playwright";
import { defineConfig } from "vitest/config";

// The system's Chromium if there is one; CHROMIUM_PATH names another.
const system = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";
const launchOptions = {
  ...(existsSync(system) ? { executablePath: system } : {}),
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

// How many times as long as on an idle machine a test may wait, as tests/patience.py measured it.
const patience = Math.max(1, Number(process.env.PATIENCE ?? 1));

export default defineConfig({
  // Only the worker and the parts that are loaded on demand import these. Found late, they would reload the page of the tests.
  optimizeDeps: { include: ["elkjs/lib/elk-worker.min.js", "svgcanvas", "uplot"] },
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    // One page for all files: each imports the panel and makes up runs in a fifth of the time.
    isolate: false,
    testTimeout: 20_000 * patience,
    provide: { patience },
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text"] },
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({ launchOptions }),
      instances: [{ browser: "chromium", viewport: { width: 1200, height: 800 } }],
    },
  },
});
