import { CommandFailed } from '../failure.ts'
import { paint, print } from '../output.ts'
import type { Ready } from '../serve/run-service.ts'

/** What a developer copies into an API that is to be protected. */
interface Sample {
  url: string
  projectId: string
  /** Verifies keys, checks limits, claims requests and reports usage: what an API needs. */
  nodeKey: string
  /** Has all rights of an owner, such as making more keys. */
  ownerKey: string
  tenants: readonly { name: string; id: string; key: string }[]
}

const customers = [
  { external_id: 'globex', name: 'Globex', scopes: ['orders:read', 'orders:write'] },
  { external_id: 'initech', name: 'Initech', scopes: ['orders:read'] },
  { external_id: 'hooli', name: 'Hooli', scopes: [] },
]

/** Fills a new service over its API, and prints what it has made. */
export async function printSample({ url, bootstrap }: Ready): Promise<void> {
  if (typeof bootstrap === 'string') throw new CommandFailed('The service has not made a bootstrap token.')
  print(compose(await makeSample(url, bootstrap.token)))
}

async function makeSample(url: string, bootstrapToken: string): Promise<Sample> {
  const workspace = await make(url, '/v1/workspaces', bootstrapToken, { name: 'Acme', slug: 'acme' })
  const ownerKey = workspace.secret_key.key
  const create = (path: string, body: object) => make(url, path, ownerKey, body)
  const { id: project_id } = await create('/v1/projects', {
    name: 'Orders',
    slug: 'orders',
    key_prefix: 'acme',
  })
  const node = await create('/v1/secret_keys', {
    env: 'live',
    name: 'development',
    preset: 'node',
    project_ids: [project_id],
  })
  const tenants: Sample['tenants'][number][] = []
  for (const { scopes, ...customer } of customers) {
    const { id: tenant_id } = await create('/v1/tenants', customer)
    const { key } = await create('/v1/keys', { project_id, tenant_id, env: 'live', name: 'First', scopes })
    tenants.push({ name: customer.name, id: tenant_id, key })
  }
  return { url, projectId: project_id, nodeKey: node.key, ownerKey, tenants }
}

/** The fields that are read from responses; the contract says which route has which. */
interface Created {
  id: string
  key: string
  secret_key: { key: string }
}

async function make(url: string, path: string, token: string, body: object): Promise<Created> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as Created & { detail?: string }
  if (!response.ok) throw new CommandFailed(`POST ${path} was answered ${response.status}: ${answer.detail}`)
  return answer
}

/** Text that a shell accepts: comments that begin with `#`, assignments and a command. */
function compose({ url, projectId, nodeKey, ownerKey, tenants }: Sample): string {
  const [first] = tenants
  const body = JSON.stringify({ project_id: projectId, tenant_id: first?.id, env: 'live' })
  const note = (text: string) => paint('dim', `# ${text}`)
  return [
    '',
    note(`A Keyrail for development. Ctrl-C stops it and deletes everything. API reference: ${url}/docs`),
    '',
    note('For your API. The secret key has the preset "node": it cannot make keys.'),
    `KEYRAIL_URL=${url}`,
    `KEYRAIL_SECRET_KEY=${nodeKey}`,
    `KEYRAIL_PROJECT=${projectId}`,
    '',
    note('One key for each of three tenants, to send to your API as "Authorization: Bearer …".'),
    ...tenants.map(({ name, key }, at) => `${name.toUpperCase()}_KEY=${key}  ${note(scopesOf(at))}`),
    '',
    note('An owner’s secret key, and one more key for the first tenant.'),
    `KEYRAIL_OWNER_KEY=${ownerKey}`,
    `curl -sS ${url}/v1/keys -H 'Authorization: Bearer ${ownerKey}' -H 'Content-Type: application/json' -d '${body}'`,
    '',
  ].join('\n')
}

const scopesOf = (at: number): string => {
  const scopes = customers[at]?.scopes ?? []
  return scopes.length === 0 ? 'no scopes' : scopes.join(', ')
}
