import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Propagation } from '@keyrail/contract/vendor/keys'
import { type Conversation, expect } from './talk.ts'
import type { Vendor } from './vendor.ts'

const script = fileURLToPath(new URL('../vendor-api/server.ts', import.meta.url))
const listens = /^The payments API listens on (http:\S+)$/

/** The vendor's API, protected: with a key it answers, without it refuses, and a revoked key is dead at once. */
export async function protectApi(
  talk: Conversation,
  service: string,
  vendor: Vendor,
  serverKey: string,
): Promise<void> {
  const { token, key } = vendor
  const api = await startApi(service, serverKey, vendor.projectId)
  try {
    const call = (title: string, sent: string | null, status: number, show: string[]) =>
      talk.ask<{ code?: string }>(
        { title, method: 'GET', path: '/payments', token: sent, status, show },
        api.url,
      )

    await call("The customer calls the vendor's API, which examples/vendor-api protects", key.key, 200, [
      'customer',
      'payments',
    ])
    await call('Without a key', null, 401, ['code'])
    const typo = key.key.slice(0, -1) + (key.key.endsWith('0') ? '1' : '0')
    const mistyped = await call('With a mistyped one: its checksum tells, nothing is looked up', typo, 401, [
      'code',
    ])
    expect(mistyped.code === 'malformed_key', 'a typo is told by the checksum')

    const { propagation } = await talk.ask<{ propagation: Propagation }>({
      title: 'The vendor revokes the key, and waits until every server that verifies keys has heard of it',
      method: 'POST',
      path: `/v1/keys/${key.id}/revoke?wait=true`,
      token,
      status: 200,
      show: ['revoked_at', 'propagation.acknowledged', 'propagation.nodes', 'propagation.waited_ms'],
    })
    expect(propagation.acknowledged && propagation.nodes === 1, 'the fleet, one server, has acknowledged it')
    const refused = await call('The very next request with it', key.key, 401, ['code'])
    expect(refused.code === 'revoked_key', 'a revoked key is refused')
  } finally {
    await api.stop()
  }
}

async function startApi(service: string, secretKey: string, projectId: string) {
  const child = spawn(process.execPath, [...process.execArgv, script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      KEYRAIL_URL: service,
      KEYRAIL_SECRET_KEY: secretKey,
      KEYRAIL_PROJECT: projectId,
    },
  })
  const stop = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  try {
    return { url: await untilListening(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function untilListening(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', line => {
      const url = listens.exec(line)?.[1]
      if (url !== undefined) resolve(url)
    })
  }
  child.once('error', reject)
  child.once('close', code => reject(new Error(`the API ended with ${code} instead of listening`)))
  return promise
}
