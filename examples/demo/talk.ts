import { styleText } from 'node:util'
import type { Problem } from '@keyrail/contract/errors'

/** One step of the demo: what it asks, and what it expects. */
export interface Step {
  /** What the vendor is doing, for the reader. */
  title: string
  method: 'GET' | 'POST'
  path: string
  /** Null: without a credential. */
  token: string | null
  body?: unknown
  status: number
  /** Fields of the answer to print, with dots for nested ones. */
  show: string[]
}

/** An answer was not the promised one. */
export class Surprise extends Error {}

export function expect(condition: boolean, promise: string): asserts condition {
  if (!condition) throw new Surprise(`not so: ${promise}`)
}

/** Calls a service over HTTP, and prints each step: the request, the answer, and how long it took. */
export class Conversation {
  readonly #url: string
  #steps = 0

  constructor(url: string) {
    this.#url = url
  }

  /** Begins a step of several requests. */
  begin(title: string): void {
    this.#steps += 1
    print(paint('bold', `${this.#steps}. ${title}`))
  }

  /** @param url the address to call, if not the service's. */
  async ask<Answer>(
    { title, method, path, token, body, status, show }: Step,
    url = this.#url,
  ): Promise<Answer> {
    const began = performance.now()
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const answer: unknown = await response.json()
    const took = performance.now() - began
    this.begin(title)
    print(`   ${method} ${path}  →  ${response.status}  ${paint('dim', `${took.toFixed(1)} ms`)}`)
    if (response.status !== status) {
      const { code, detail } = answer as Partial<Problem>
      throw new Surprise(`${method} ${path} answered ${response.status} (${code}: ${detail}), not ${status}`)
    }
    for (const field of show) print(`   ${paint('cyan', field.padEnd(26))}${shown(valueAt(answer, field))}`)
    print('')
    return answer as Answer
  }
}

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export const paint = (format: 'bold' | 'dim' | 'cyan' | 'green' | 'red', text: string) =>
  styleText(format, text, { stream: process.stdout })

const valueAt = (answer: unknown, field: string) =>
  field.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | null)?.[name], answer)

/** Shortens a secret to what may be shown: its prefix and its first 4 random characters. */
const shown = (value: unknown) =>
  typeof value === 'string' ? value.replaceAll(secret, '$1…') : JSON.stringify(value)

const secret = /\b([a-z][a-z0-9]{1,15}_(?:live|test)_[0-9A-Za-z]{4})[0-9A-Za-z]{34}\b/g
