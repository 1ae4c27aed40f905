import { basename, join } from 'node:path'
import { build, type InlineConfig, type Plugin } from 'vite'
import { en } from './src/widget/words/en.ts'

const folder = import.meta.dirname

/** The file that pages load from the service. */
export const servedName = 'keyrail-keys.js'

const textNames = Object.keys(en)

/** Writes the texts of a language in one order, without their names: in all languages together that is half a kilobyte. */
const packTexts: Plugin = {
  name: 'pack-texts',
  async transform(_, path) {
    const [, language = ''] = /\/src\/widget\/words\/([a-z]{2})\.ts$/.exec(path) ?? []
    if (language === '') return
    const texts: Record<string, string> = (await import(path))[language]
    const packed = textNames.map(name => texts[name] ?? '')
    if (packed.some(text => text.includes('|'))) throw new Error(`${basename(path)} has a text with a |`)
    return `import { unpack } from './unpack.ts'
      export const ${language} = unpack(${JSON.stringify(packed.join('|'))})`
  },
}

/** Elements of JSX are calls of `h`, which the widget has anyway: Preact's own runtime for JSX repeats it. */
const importH: Plugin = {
  name: 'import-h',
  enforce: 'pre',
  transform: (code, path) =>
    path.endsWith('.tsx') ? `import { Fragment, h } from 'preact'\n${code}` : undefined,
}

const config: InlineConfig = {
  root: folder,
  configFile: false,
  logLevel: 'warn',
  mode: 'production',
  css: { postcss: {} },
  define: { TEXT_NAMES: JSON.stringify(textNames.join('|')) },
  oxc: { jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'Fragment' } },
  plugins: [importH, packTexts],
}

/**
 * Properties that only the widget's own parts use: nothing of the DOM, of the service, or that a page sees. The served file has
 * one letter for each, which is 180 bytes.
 */
const internalNames =
  /^(action|canRestrict|day|endsAt|expire|faultOf|expiresAt|forgive|hasDates|hasMore|isBusy|isLoading|isOwn|isReplaced|issuedAt|keyring|kind|learn|learnFrom|left|load|marksOf|madeFrom|make|moment|number|oldEndsAt|on(Close|Done|Edit|Made|Name|NewSource|Pause|Restrict|Resume|Retry|Revoke|Rotate|Text)|renew|restrict|secret|serviceNow|shown|span|subject|subscribe|takeFrom|tenants|text|tokens|trouble|unsubscribe|utcDay|wake|want|words)$/

/** Properties of Preact's own that no element has, and of components that are classes, which the widget has not: 150 bytes. */
const namesOfPreact =
  /^(component(Did|Will)[A-Z]\w+|context(Type)?|current|debounceRendering|diffed|forceUpdate|get(ChildContext|DerivedState\w+|SnapshotBeforeUpdate)|props|(setS|s)tate|shouldComponentUpdate|unmount|vnode|__html)$/

const output: InlineConfig['build'] = {
  emptyOutDir: false,
  // As the dashboard.
  target: ['chrome123', 'edge123', 'firefox121', 'safari17.5'],
  copyPublicDir: false,
  modulePreload: false,
}

/** Writes the widget into a folder, as the one file that the service serves: with Preact, its style and its texts. */
export async function bundleWidget(into: string): Promise<void> {
  await build({
    ...config,
    build: {
      ...output,
      outDir: into,
      // Not as a library, whose spaces Vite would keep.
      rolldownOptions: {
        input: join(folder, 'src/served.ts'),
        preserveEntrySignatures: 'strict',
        optimization: { inlineConst: { mode: 'all', pass: 2 } },
        output: {
          format: 'es',
          entryFileNames: servedName,
          minify: { mangleProps: { include: new RegExp(`${internalNames.source}|${namesOfPreact.source}`) } },
          postBanner: '//# allFunctionsCalledOnLoad',
        },
      },
    },
  })
}

/**
 * Writes the modules of the npm package into a folder. They import Preact, and React where a page has it. As CommonJS, which Jest
 * loads, they have Preact inside: it comes as ES modules only.
 */
export async function bundlePackage(into: string, format: 'es' | 'cjs' = 'es'): Promise<void> {
  const names = ['index', 'react']
  await build({
    ...config,
    build: {
      ...output,
      outDir: into,
      rolldownOptions: {
        input: Object.fromEntries(names.map(name => [name, join(folder, `src/${name}.ts`)])),
        external: format === 'es' ? [/^preact/, 'react'] : ['react'],
        preserveEntrySignatures: 'strict',
        output: {
          format,
          entryFileNames: '[name].js',
          chunkFileNames: 'shared.js',
          // A page of Next that a server renders may then import the component.
          postBanner: ({ name }) => (name === 'react' ? `'use client'` : ''),
        },
      },
    },
  })
}
