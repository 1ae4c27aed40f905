import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Tree } from './previous-release.ts'

/** What a keyring is asked: a key, and what the request needs. */
export type Question = readonly [key: string, requirements?: { ip?: string }]

/** A keyring of the SDK of a release, in a process of its own. */
export interface ReleasedKeyring {
  /** The codes of the verdicts, once the keyring has that version of the policy. */
  verdicts(version: number, questions: readonly Question[]): Promise<string[]>
  /** Ends it in order. */
  stop(): Promise<void>
}

const program = `
  import { createInterface } from 'node:readline'
  const { createKeyring } = await import(process.env.SDK)
  const keyring = createKeyring({ cachedTtlMs: 10_000 })
  await keyring.ready()
  console.log('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const { version, questions } = JSON.parse(line)
    while ((keyring.stats().version ?? 0) < version) await new Promise(resolve => setTimeout(resolve, 20))
    console.log(JSON.stringify(questions.map(([key, requirements]) => keyring.verify(key, requirements).code)))
  }
  await keyring.close()`

/** Ready when it resolves, so that it hears what changes from then on. */
export async function openReleasedKeyring(
  tree: Tree,
  options: { url: string; secretKey: string; project: string },
): Promise<ReleasedKeyring> {
  const child = spawn(
    process.execPath,
    ['--conditions=keyrail-source', '--input-type=module', '--eval', program],
    {
      cwd: tree.path,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH ?? '',
        SDK: join(tree.path, 'packages/sdk/src/index.ts'),
        // Their names are the same in all releases; those of the options are not.
        KEYRAIL_URL: options.url,
        KEYRAIL_SECRET_KEY: options.secretKey,
        KEYRAIL_PROJECT: options.project,
      },
    },
  )
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async (): Promise<string> => {
    const { value, done } = await lines.next()
    if (done) throw new Error('the keyring of the release has ended')
    return value
  }
  await nextLine()
  return {
    async verdicts(version, questions) {
      child.stdin.write(`${JSON.stringify({ version, questions })}\n`)
      return JSON.parse(await nextLine())
    },
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
