import { createAdmin } from '../packages/sdk/src/admin.ts'
import { type ConnectionOptions, createEmbed, createUsageReporter } from '../packages/sdk/src/index.ts'
import { embedHandler } from '../packages/sdk/src/web.ts'
import { drawKey, id } from '../packages/sdk/test/keys.ts'
import { nothing, type Said, type Situation, thrownBy } from './sdk-said.ts'

/** Mistakes with the admin client, usage reports and embed tokens, and their messages. */

// biome-ignore lint/suspicious/noExplicitAny: untyped code passes anything.
type Anything = any

const nowhere = { secretKey: drawKey('krsk_live'), url: 'http://127.0.0.1:2' }

/** Simulates a browser: with a document and without Node. */
function inBrowser(work: () => unknown): Promise<Said> {
  const versions = Object.getOwnPropertyDescriptor(process, 'versions') as PropertyDescriptor
  Object.assign(globalThis, { document: {} })
  Object.defineProperty(process, 'versions', { ...versions, value: {} })
  try {
    return thrownBy(work)
  } finally {
    Object.defineProperty(process, 'versions', versions)
    Reflect.deleteProperty(globalThis, 'document')
  }
}

/** What a reporter says that has counted one request of an unknown key. */
async function usageErrors(connection: ConnectionOptions, timeoutMs = 10_000): Promise<Said[]> {
  const said: Said[] = []
  const usage = createUsageReporter({ ...connection, onError: error => said.push(error) })
  usage.count({ keyId: id(9) })
  await usage.close({ timeoutMs })
  return said
}

/** @param connection to the real service, with an owner's key */
export function misusesOfAdmin(connection: ConnectionOptions): readonly Situation[] {
  const admin = (more: Anything = {}) => createAdmin({ ...connection, maxRetries: 0, ...more })
  const other = async () => Response.json({ object: 'something_else' })
  const unsaid = async () => Response.json({ object: 'api_key', id: id(3) }, { status: 201 })
  const key = { projectId: id(1), tenantId: id(2), env: 'live' } as const
  return [
    [
      'admin with a project',
      'createAdmin has no option "…"',
      () => thrownBy(() => admin({ project: id(1) })),
    ],
    [
      'admin in a page',
      '@keyrail/sdk works with a secret key, which must never be in a browser: use it on your server, and embed tokens in pages',
      () => inBrowser(admin),
    ],
    [
      'a name of the service',
      'This call has no field "…": it is called "…"',
      () =>
        thrownBy(() =>
          admin()
            .keys.list({ tenant_id: id(2) } as Anything)
            .page(),
        ),
    ],
    ['a name as an id', 'id must be a uuid', () => thrownBy(() => admin().keys.get('payments'))],
    [
      'an idempotencyKey of two lines',
      'idempotencyKey must be 1 to 255 printable ASCII characters',
      () => thrownBy(() => admin().keys.create(key, { idempotencyKey: 'a\nb' })),
    ],
    [
      'another answer',
      'GET … was not answered with …',
      () => thrownBy(() => admin({ fetch: other }).workspace.get()),
    ],
    [
      'a lost secret',
      'POST … was executed, but the answer with its secret was lost, and Keyrail keeps no copy: …',
      () => thrownBy(() => admin({ fetch: unsaid }).keys.create(key)),
    ],
    [
      'an aborted call',
      'GET … was aborted by its caller',
      () => thrownBy(() => admin().workspace.get({ signal: AbortSignal.abort() })),
    ],
  ]
}

/** @param connection to the real service */
export const misusesOfUsage = (connection: ConnectionOptions): readonly Situation[] => [
  [
    'usage with a project',
    'createUsageReporter has no option "…"',
    () => thrownBy(() => createUsageReporter({ ...nowhere, project: id(1) } as Anything)),
  ],
  [
    'a rate in percent',
    'sampleRate must be a number from 0.0001 to 1',
    () => thrownBy(() => createUsageReporter({ ...nowhere, sampleRate: 10 })),
  ],
  [
    'usage of an unknown key',
    '… of … records of a usage report were ignored: their key is not in this environment, or their hour is too old or in the future',
    async () => (await usageErrors(connection))[0] ?? nothing,
  ],
  [
    'usage without a service',
    'POST … failed at …',
    async () => (await usageErrors(nowhere, 500))[0] ?? nothing,
  ],
  [
    'usage left at the end',
    '… counted requests were not reported before the end',
    async () => (await usageErrors(nowhere, 500)).at(-1) ?? nothing,
  ],
]

export const misusesOfEmbed: readonly Situation[] = [
  [
    'an embed handler without its part',
    'embedHandler takes a part made by createEmbed',
    () => thrownBy(() => embedHandler({} as Anything, () => null)),
  ],
  [
    'an embed handler without a session check',
    'embedHandler takes a session check',
    () => thrownBy(() => embedHandler(createEmbed({ ...nowhere, project: id(1) }), undefined as Anything)),
  ],
  [
    'an embed handler with one origin as a string',
    'origins must be an array of origins',
    () =>
      thrownBy(() =>
        embedHandler(createEmbed({ ...nowhere, project: id(1) }), () => null, {
          origins: 'https://a' as Anything,
        }),
      ),
  ],
]
