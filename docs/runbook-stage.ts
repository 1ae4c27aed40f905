import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Connection } from '../packages/server/src/platform/db/connection.ts'
import { ask, Installation, type Serving, urlOf } from '../packages/server/test/installation.ts'
import type { AskApi } from '../packages/server/test/mutations.ts'
import { makeScene } from '../packages/server/test/vendor.ts'
import { OperatorShell } from './runbook-steps.ts'

const bootstrapToken = 'bootstrap-token-of-the-runbooks-0123456789'

/** A service as a separate process on a database, and a shell beside it with its settings. */
export class RunbookStage {
  readonly installation: Installation
  readonly shell: OperatorShell
  #serving: Serving | null = null

  constructor(connection: Connection, env: Record<string, string> = {}) {
    const given = { DATABASE_URL: urlOf(connection), SERVICE_BOOTSTRAP_TOKEN: bootstrapToken, ...env }
    this.installation = new Installation(given)
    this.shell = new OperatorShell(this.installation.env)
    after(async () => {
      await this.installation.remove()
      this.shell.remove()
    })
  }

  get url(): string {
    return this.#serving?.url ?? assert.fail('the service is stopped')
  }

  /** What the service has logged since its start. */
  get log(): string {
    return this.#serving?.output.out ?? ''
  }

  async start(env: Record<string, string> = {}): Promise<void> {
    this.#serving = await this.installation.serve(env)
  }

  async stop(): Promise<void> {
    this.#serving?.child.kill('SIGTERM')
    await this.#serving?.ended
    this.#serving = null
  }

  readonly ask: AskApi = async (method, path, { token, body } = {}) => {
    const answer = await ask(this.url + path, { method, body, ...(token !== undefined && { token }) })
    assert.ok(answer !== null, `${method} ${path} was not answered`)
    return answer as Awaited<ReturnType<AskApi>>
  }

  /** A workspace with a project and a tenant, made over the API. */
  makeScene(): ReturnType<typeof makeScene> {
    return makeScene(this.ask, bootstrapToken)
  }
}
