/** The text above the operations in the API reference. Markdown. */
export const introduction = `The control plane for API keys: issue keys to your customers, verify them in memory on your own servers, and revoke them everywhere within seconds.

## Authentication

Send a credential as \`Authorization: Bearer …\`. Each operation lists the kinds that it accepts:

- a **secret key** (\`krsk_…\`) of your backend. Limit it with \`permissions\`, \`project_ids\` and \`allowed_cidrs\`;
- a **session** (\`krses_…\`) of a signed-in person, who acts with their role in the workspace;
- an **embed token**, valid for five minutes, with which a customer's browser manages that customer's keys;
- the operator's **bootstrap token**, which creates workspaces.

## The workspace

A credential acts in one workspace, and a session can move to another. To be sure, send \`Keyrail-Workspace\` with the id of the workspace that you mean: if the credential acts in another one, the request is refused with 409 \`workspace_changed\`. The header gives no access.

## Environments

Keys and secret keys are \`live\` or \`test\`. A test secret key sees and changes only test keys. Operations that change anything else need a live one.

## Errors

Every error is \`application/problem+json\` (RFC 9457). \`code\` is stable, \`detail\` is for people, \`errors\` names each invalid field by its path, and \`request_id\` finds the request in the service's log. The id of another workspace gets the same 404 as a missing id.

## Paging

Lists take \`limit\` and \`cursor\`. Pass \`next_cursor\` back until it is \`null\`. A page ends at 4 MiB, whatever its \`limit\`. Lists are newest first unless they say otherwise; a search (\`q\`) is sorted by what it finds. A cursor belongs to the list and the filters that returned it.

## Idempotency

Send \`Idempotency-Key\` with creations, rotations and changes of many keys. A repeat within 24 hours returns the first response, without its secret.

## Versions

The path carries the major version. Within \`/v1\` new optional fields, new values in responses and new operations may appear at any time. Ignore what you do not know.`

interface Tag {
  readonly name: string
  readonly description: string
}

/** By the first segment after `/v1/` of a path, in the order of the reference. */
const tags: Readonly<Record<string, Tag>> = {
  workspaces: {
    name: 'Workspaces',
    description: 'A workspace is one vendor: its projects, customers, keys and people.',
  },
  workspace: { name: 'Workspaces', description: '' },
  projects: {
    name: 'Projects',
    description: 'A project is one API to protect, with its key prefix and default limits.',
  },
  tenants: {
    name: 'Tenants',
    description: 'A tenant is one of your customers. It holds keys, and may manage them itself.',
  },
  keys: {
    name: 'Keys',
    description: 'Keys that you issue to tenants: create, rotate, pause, revoke, one or many.',
  },
  secret_keys: { name: 'Secret keys', description: 'Credentials of your backend and servers.' },
  policy: {
    name: 'Policy feed',
    description: 'The keys of a project, for servers that verify them in memory. The SDK reads it for you.',
  },
  ratelimit: { name: 'Rate limits', description: 'Shared counters for limits per key and per tenant.' },
  idempotency: {
    name: 'Idempotency',
    description: "Executes a customer's request once, however often it is sent.",
  },
  usage: { name: 'Usage', description: 'Request counts of keys and tenants, by hour, day and month.' },
  overview: { name: 'Overview', description: 'The state of a workspace in one answer.' },
  embed_tokens: {
    name: 'Embedded key management',
    description: "Calls with which a customer's browser manages that customer's keys.",
  },
  embed: { name: 'Embedded key management', description: '' },
  audit_logs: {
    name: 'Audit log',
    description: 'Every change, in a chain of hashes that you can verify.',
  },
  security_events: {
    name: 'Security events',
    description: 'Sign-ins, refusals and resets, with address and client.',
  },
  members: { name: 'Members', description: 'The people of a workspace and their roles.' },
  invites: { name: 'Invitations', description: 'Invitations of people to a workspace, by e-mail.' },
  auth: { name: 'Sign-in', description: 'Accounts, sessions and passwords of people.' },
  webhooks: { name: 'Leak reports', description: 'Reports of credentials that a code host found in public.' },
  '.well-known': { name: 'Public keys', description: 'Keys that verify embed tokens and audit checkpoints.' },
  healthz: { name: 'Health', description: 'Checks for load balancers and orchestrators.' },
  readyz: { name: 'Health', description: '' },
}

/** The tags with a description, one for each name. */
export const describedTags: readonly Tag[] = Object.values(tags).filter(
  ({ description }) => description !== '',
)

/** @throws for a path whose noun has no tag yet. */
export function tagOf(path: string): string {
  const noun = path.replace(/^\/v1\//, '/').split('/')[1] ?? ''
  const tag = tags[noun]
  if (tag === undefined) throw new Error(`reference-text.ts has no tag for ${path}`)
  return tag.name
}
