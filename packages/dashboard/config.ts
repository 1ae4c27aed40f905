import { join } from 'node:path'
import type { InlineConfig } from 'vite'

const folder = import.meta.dirname

/** The page, what surrounds every screen, and the screen that a person meets first; each with what it imports. */
const firstVisit = /[\\/]src[\\/](?:main|shell[\\/]shell|screens[\\/]overview[\\/]overview)\.tsx$/

/** How Vite builds and serves the dashboard. The service serves the result under `/app/`. */
export const config: InlineConfig = {
  root: folder,
  base: '/app/',
  configFile: false,
  // Only plain CSS: without this, Vite searches the folders above for a configuration.
  css: { postcss: {} },
  build: {
    outDir: join(folder, 'dist'),
    assetsDir: 'assets',
    emptyOutDir: true,
    // Browsers since spring 2024: the first that choose between two colours by themselves (`light-dark()`).
    target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
    // A data: URL would need a hole in the page's content security policy.
    assetsInlineLimit: 0,
    // `budgets.ts` holds what a browser loads.
    chunkSizeWarningLimit: 1_000,
    modulePreload: { polyfill: false },
    manifest: 'manifest.json',
    rolldownOptions: {
      output: {
        // What a first visit needs comes in one file: over a slow line, each file that only another one names costs a round trip.
        codeSplitting: { groups: [{ name: 'first', test: firstVisit }] },
      },
      onLog(level, log, handle) {
        // Mantine marks each file for React's server, which plays no part here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log)
      },
    },
  },
}
