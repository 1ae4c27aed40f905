import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFault } from '../harness/bench.ts'
import type { HttpRequest } from '../harness/request.ts'

/** What a fleet must notice: a request to the service, or a new text of the file that a web server serves. */
export type Trigger = { url: string; request: HttpRequest } | { file: string; text: string }

/** Milliseconds between tries of a request that got 503, and how many tries at most. */
const againMs = 100
const triesMax = 100

/** @returns when it was answered, or the file was in its place, on the clock of `performance.now()` */
export async function pull(trigger: Trigger): Promise<{ at: number; refused: number }> {
  if ('file' in trigger) {
    replaceFile(trigger.file, trigger.text)
    return { at: performance.now(), refused: 0 }
  }
  const { method = 'GET', path = '/', headers = {}, body } = trigger.request
  for (let refused = 0; ; refused++) {
    const answer = await fetch(trigger.url + path, { method, headers, ...(body !== undefined && { body }) })
    const at = performance.now()
    const text = await answer.text()
    if (answer.ok) return { at, refused }
    if (answer.status !== 503 || refused === triesMax) {
      throw new BenchFault(`${path} was answered ${answer.status}: ${text}`)
    }
    await sleep(againMs)
  }
}

/** In one step, so that no client reads half of it. */
export function replaceFile(file: string, text: string): void {
  const next = `${file}.next`
  writeFileSync(next, text)
  renameSync(next, file)
}
