/**
 * Every setting of the service: its name, kind, default, unit and reason, declared once.
 * `docs/configuration.md` is held against this table, and nothing else reads the environment.
 */
export interface Setting {
  kind: 'text' | 'integer' | 'url' | 'path' | 'secret'
  default: string | null
  min?: number
  max?: number
  why: string
}

export const settings = {
  SERVICE_HOST: { kind: 'text', default: '127.0.0.1', why: 'Address to listen on' },
  SERVICE_PORT: { kind: 'integer', default: '8080', min: 0, max: 65_535, why: 'Port; 0 takes a free one' },
  SERVICE_MAX_CONNECTIONS: {
    kind: 'integer',
    default: '25000',
    min: 10,
    max: 1_000_000,
    why: 'Connections open at once; one more is closed as it comes',
  },
  SERVICE_PUBLIC_URL: {
    kind: 'url',
    default: null,
    why: 'How people and tokens name the service; http://localhost:<port> when unset',
  },
  SERVICE_DATA_DIR: {
    kind: 'path',
    default: './data',
    why: 'Embedded database, generated secrets and the mail of development',
  },
  SERVICE_MAIL_URL: {
    kind: 'url',
    default: null,
    why: 'Where mail goes: smtp://, smtps:// or file:<folder>; unset: the folder mail in SERVICE_DATA_DIR',
  },
  SERVICE_MAIL_FROM: {
    kind: 'text',
    default: null,
    why: 'Sender, as Name <address>; unset: no-reply at the host of SERVICE_PUBLIC_URL',
  },
  DATABASE_URL: { kind: 'url', default: null, why: 'Postgres 15 or later; unset: the embedded one' },
  DATABASE_DIRECT_URL: {
    kind: 'url',
    default: null,
    why: 'The same database past a pooler, for LISTEN, mail, migrations, backup and restore',
  },
  SERVICE_DATABASE_POOL: {
    kind: 'integer',
    default: '20',
    min: 1,
    max: 200,
    why: 'Connections for management requests, beside one a lane; one workspace uses half of them',
  },
  REDIS_URL: {
    kind: 'url',
    default: null,
    why: 'Redis or Valkey 7 or later for rate-limit counters, single or cluster; unset: Postgres',
  },
  SERVICE_BOOTSTRAP_TOKEN: {
    kind: 'secret',
    default: null,
    min: 32,
    why: 'May create workspaces; unset: that branch is off (an embedded database generates one)',
  },
  SERVICE_HOT_AUTH_CACHE_MS: {
    kind: 'integer',
    default: '5000',
    min: 0,
    max: 60_000,
    why: 'How long rate-limit checks and idempotency calls reuse what was found of a secret key, in ms; 0: not at all',
  },
  SERVICE_REVOKE_WAIT_MS: {
    kind: 'integer',
    default: '15000',
    min: 0,
    max: 60_000,
    why: 'How long `revoke?wait=true` waits for nodes, in ms: two polls of 5 s and slack',
  },
  SERVICE_POLICY_MAX_WHOLE_KEYS: {
    kind: 'integer',
    default: '10000',
    min: 1,
    max: 100_000,
    why: 'Keys of a snapshot that is sent whole to a caller who does not page',
  },
  SERVICE_POLICY_MAX_PAGE_KEYS: {
    kind: 'integer',
    default: '5000',
    min: 1,
    max: 20_000,
    why: 'Keys of a snapshot’s page, and changes of a delta, at most',
  },
  SERVICE_MAX_HELD_POLLS: {
    kind: 'integer',
    default: '20000',
    min: 0,
    max: 1_000_000,
    why: 'Polls that a process holds (`Prefer: wait`); more are answered at once',
  },
  SERVICE_MAX_HELD_POLLS_PER_WORKSPACE: {
    kind: 'integer',
    default: '10000',
    min: 0,
    max: 1_000_000,
    why: 'Polls of one workspace that a process holds; more are answered at once',
  },
  SERVICE_MAX_STORED_ANSWER_BYTES_PER_WORKSPACE: {
    kind: 'integer',
    default: '10737418240',
    min: 0,
    max: 1_000_000_000_000_000,
    why: 'Bytes of answers that a workspace may have stored for replays: 10 GiB; further ones are completed, and not replayed',
  },
  SERVICE_MAX_COUNTERS_PER_WORKSPACE: {
    kind: 'integer',
    default: '1000000',
    min: 0,
    max: 100_000_000,
    why: 'Keys and tenants of a workspace with rate-limit counters in Postgres; checks that need more are refused',
  },
  SERVICE_SIGN_UP: {
    kind: 'text',
    default: 'open',
    why: 'Who may make an account: open (anybody), invited (addresses with a pending invitation) or closed (nobody)',
  },
  SERVICE_MAX_WORKSPACES_PER_PERSON: {
    kind: 'integer',
    default: '25',
    min: 1,
    max: 100_000,
    why: 'Workspaces that a person may own and still create another',
  },
  SERVICE_MAX_ACTIVE_SECRET_KEYS: {
    kind: 'integer',
    default: '1000',
    min: 1,
    max: 10_000,
    why: 'Secret keys of a workspace that are neither revoked nor expired; one transaction must be able to revoke all',
  },
  SERVICE_MAX_ACTIVE_KEYS_PER_TENANT: {
    kind: 'integer',
    default: '10000',
    min: 1,
    max: 10_000_000,
    why: 'Keys a tenant may hold that are neither revoked nor expired',
  },
  SERVICE_EMBED_MAX_ACTIVE_KEYS: {
    kind: 'integer',
    default: '100',
    min: 1,
    max: 10_000_000,
    why: 'Active keys that a tenant may have made in the embed plane, by project and environment',
  },
  SERVICE_SIGNING_KEY: {
    kind: 'secret',
    default: null,
    min: 200,
    why: 'P-256 keys in PEM that sign embed tokens, best by SERVICE_SIGNING_KEY_FILE; unset: kept in the database',
  },
  SERVICE_ENCRYPTION_KEY: {
    kind: 'secret',
    default: null,
    min: 43,
    why: 'Master keys of 32 bytes that seal secrets in the database, the first of which seals; required with DATABASE_URL',
  },
  SERVICE_PASSWORD_MIN_LENGTH: {
    kind: 'integer',
    default: '12',
    min: 8,
    max: 64,
    why: 'Characters of a new password at least; 256 at most',
  },
  SERVICE_SESSION_MAX_AGE_S: {
    kind: 'integer',
    default: '604800',
    min: 60,
    max: 31_536_000,
    why: 'How long a session lives, in seconds: 7 days',
  },
  SERVICE_SESSION_IDLE_S: {
    kind: 'integer',
    default: '86400',
    min: 60,
    max: 31_536_000,
    why: 'After how many seconds without a request a session ends: 24 hours',
  },
  SERVICE_AUTH_PER_IP: {
    kind: 'integer',
    default: null,
    min: 1,
    max: 100_000,
    why: 'Failed sign-ins a minute and client address (of IPv6 its /64); unset: not counted',
  },
  SERVICE_TRUST_PROXY: {
    kind: 'integer',
    default: '0',
    min: 0,
    max: 10,
    why: 'Proxy hops whose X-Forwarded-For is believed',
  },
  SERVICE_CODEHOST_KEYS_URL: {
    kind: 'url',
    default: 'https://api.github.com/meta/public_keys/secret_scanning',
    why: 'Where the public keys are that verify reports of leaked credentials',
  },
  SERVICE_CODEHOST_KEYS_FILE: {
    kind: 'path',
    default: null,
    why: 'A file with the same JSON, read in place of the URL',
  },
  SERVICE_METRICS_PORT: {
    kind: 'integer',
    default: null,
    min: 0,
    max: 65_535,
    why: 'Prometheus text on a port of its own, never on the public one',
  },
  SERVICE_LOG_LEVEL: { kind: 'text', default: 'info', why: 'trace, debug, info, warn, error or silent' },
} as const satisfies Record<string, Setting>
