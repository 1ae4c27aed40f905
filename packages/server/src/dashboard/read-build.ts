import { readdir, readFile } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type KeptFile, keepFile } from '../platform/http/serve-static.ts'
import { fileHeaders } from './policy.ts'
import { keepWidget } from './widget.ts'

/** A build of the dashboard, in memory. */
export interface Build {
  /** `index.html`, with placeholders. */
  readonly index: string
  /** The other files, by their path below `/app/`. Whatever is not in this map is not served. */
  readonly files: ReadonlyMap<string, KeptFile>
  /** The files of the widget, by their names below `/embed/v1/`. */
  readonly widget: ReadonlyMap<string, KeptFile>
  /** The guides, the pages of errors and the packages, by their paths: `/guides/people`. */
  readonly beside: ReadonlyMap<string, KeptFile>
}

/** Vite writes files here whose names contain a hash of their content. */
const hashed = 'assets/'

/** Written with every build, and different in each. */
const stampName = 'built.json'

/** Names the newest version of the widget. */
const widgetName = 'widget.json'

const types: Record<string, string> = {
  '.cfg': 'text/plain; charset=utf-8',
  '.conf': 'text/plain; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.lua': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.tgz': 'application/gzip',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.yaml': 'application/yaml; charset=utf-8',
}

/** What is not part of the application, but stands beside it. */
const besides = /^(?:guides|errors|packages)\//

/** A build is replaced by two renames, between which it is missing. */
const triesMax = 20
const untilNextTryMs = 50

/**
 * Reads a build whole, some five megabytes, so that an old index never meets new files. If another process replaces the
 * build meanwhile, it begins again.
 */
export async function readBuild(folder: string): Promise<Build> {
  for (let tries = 1; ; tries += 1) {
    try {
      const before = await readStamp(folder)
      const build = await readFiles(folder)
      if ((await readStamp(folder)) === before) return build
    } catch (error) {
      if (tries === triesMax) throw error
    }
    if (tries === triesMax) throw new Error('the build changes all the time')
    await sleep(untilNextTryMs)
  }
}

/** Null in a build that was made by another command, which has no stamp. */
const readStamp = (folder: string): Promise<string | null> =>
  readFile(join(folder, stampName), 'utf8').catch(error => {
    if (error.code === 'ENOENT') return null
    throw error
  })

async function readFiles(folder: string): Promise<Build> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .filter(path => path !== stampName && !path.startsWith('.'))
  const read = await Promise.all(
    paths.map(async path => [path.replaceAll(sep, '/'), await readFile(join(folder, path))] as const),
  )
  const all = new Map(read)
  const index = all.get('index.html')
  if (index === undefined) throw new Error('the build has no index.html')
  all.delete('index.html')
  const facts = all.get(widgetName)
  all.delete(widgetName)
  const widget = keepWidget(all, facts)
  const kept = [...all].map(([path, body]) => [path, keep(path, body)] as const)
  const [files, beside] = [false, true].map(isBeside =>
    kept.filter(([path]) => besides.test(path) === isBeside),
  )
  return {
    index: index.toString(),
    files: new Map(files),
    widget,
    beside: new Map(beside?.map(([path, file]) => [addressOf(path), file])),
  }
}

const addressOf = (path: string): string => `/${path.replace(/(?:\/index)?\.html$/, '')}`

const keep = (path: string, body: Buffer): KeptFile =>
  keepFile(
    { type: types[extname(path)] ?? 'application/octet-stream', body, headers: fileHeaders },
    path.startsWith(hashed) ? 'immutable' : 'no-cache',
  )
