import { renameSync, writeFileSync } from 'node:fs'
import { BenchFault } from '../harness/bench.ts'
import type { HttpRequest } from '../harness/request.ts'

/** What a fleet is to notice: a request to the service, or a new text of the file that a web server hands out. */
export type Trigger = { url: string; request: HttpRequest } | { file: string; text: string }

/** @returns when it was answered, or the file was in its place, on the clock of `performance.now()` */
export async function pull(trigger: Trigger): Promise<number> {
  if ('file' in trigger) {
    replaceFile(trigger.file, trigger.text)
    return performance.now()
  }
  const { method = 'GET', path = '/', headers = {}, body } = trigger.request
  const answer = await fetch(trigger.url + path, {
    method,
    headers,
    ...(body !== undefined && { body }),
  })
  const at = performance.now()
  const text = await answer.text()
  if (!answer.ok) throw new BenchFault(`${path} was answered ${answer.status}: ${text}`)
  return at
}

/** In one step, so that nobody is handed half of it. */
export function replaceFile(file: string, text: string): void {
  const next = `${file}.next`
  writeFileSync(next, text)
  renameSync(next, file)
}
