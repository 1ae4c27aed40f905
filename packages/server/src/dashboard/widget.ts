import { type KeptFile, keepFile } from '../platform/http/serve-static.ts'
import { widgetHeaders } from './policy.ts'

/**
 * The widget, which pages of vendors load from here. Its newest version is at one address that stays; each version is at an
 * address with its digest too, for pages that name its integrity. `keyrail-keys.json` has both for the newest.
 */
export const widgetPlace = '/embed/v1'
const newest = 'keyrail-keys.js'
const versions = /^assets\/(keyrail-keys-[\w-]+\.js)$/

/** @param facts the content of `widget.json`; undefined in a build without the widget. */
export function keepWidget(
  files: ReadonlyMap<string, Buffer>,
  facts: Buffer | undefined,
): ReadonlyMap<string, KeptFile> {
  const kept = new Map<string, KeptFile>()
  if (facts === undefined) return kept
  const headers = widgetHeaders
  const type = 'text/javascript; charset=utf-8'
  for (const [path, body] of files) {
    const name = versions.exec(path)?.[1]
    if (name !== undefined) kept.set(name, keepFile({ type, body, headers }, 'immutable'))
  }
  const { file, integrity }: { file: string; integrity: string } = JSON.parse(facts.toString())
  const body = files.get(`assets/${file}`)
  if (body === undefined) throw new Error(`the build has no ${file}`)
  kept.set(newest, keepFile({ type, body, headers }, 'no-cache'))
  const answer = JSON.stringify({ src: `${widgetPlace}/${file}`, integrity })
  const json = { type: 'application/json; charset=utf-8', body: answer, headers }
  kept.set(newest.replace('.js', '.json'), keepFile(json, 'no-cache'))
  return kept
}
