import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { compile } from 'svelte/compiler'
import { build, type Plugin } from 'vite'

const vueFlags = {
  __VUE_OPTIONS_API__: 'true',
  __VUE_PROD_DEVTOOLS__: 'false',
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
}

const svelte: Plugin = {
  name: 'svelte',
  transform: (text, path) =>
    path.endsWith('.svelte') ? compile(text, { filename: path, generate: 'client' }).js.code : undefined,
}

/**
 * Bundles a page as its author would. The work is below this folder, so that it finds the packages.
 *
 * @param files what the page imports beside packages, by name
 */
export async function bundlePage(
  text: string,
  alias: Record<string, string> = {},
  files: Record<string, string> = {},
): Promise<Buffer> {
  const work = mkdtempSync(join(import.meta.dirname, '.work-'))
  after(() => rmSync(work, { recursive: true, force: true }))
  for (const [name, content] of Object.entries({ 'page.ts': text, ...files }))
    writeFileSync(join(work, name), content)
  await build({
    root: work,
    configFile: false,
    logLevel: 'error',
    css: { postcss: {} },
    plugins: [svelte],
    define: { 'process.env.NODE_ENV': '"development"', ...vueFlags },
    resolve: { alias },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: join(work, 'out'),
      modulePreload: false,
      minify: false,
      rolldownOptions: { input: join(work, 'page.ts'), output: { entryFileNames: 'page.js' } },
    },
  })
  return readFileSync(join(work, 'out/page.js'))
}
