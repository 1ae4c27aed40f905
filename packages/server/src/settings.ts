export interface Setting {
  kind: 'text' | 'integer' | 'url' | 'path' | 'secret' | 'proxies'
  default: string | null
  min?: number
  max?: number
  /** The only allowed values of a text. */
  oneOf?: readonly string[]
  /** Allowed schemes of a URL; unset: the code that uses the URL checks it. */
  schemes?: readonly string[]
  /** Several URLs, separated by commas, are allowed. */
  isList?: true
  /** The URL contains a password. */
  holdsPassword?: true
  /** The text is the name or the address of a machine. */
  isHost?: true
  /** The path is that of a file which only the service should read. */
  holdsSecret?: true
  why: string
}

/**
 * Every setting of the service: its name, kind, default, bounds and purpose, declared once. `config.ts` makes a field of
 * each. A test compares `docs/configuration.md` with this table, and nothing else reads the environment.
 */
export const settings = {
  SERVICE_HOST: { kind: 'text', isHost: true, default: '127.0.0.1', why: 'Address to listen on' },
  SERVICE_PORT: {
    kind: 'integer',
    default: '8080',
    min: 0,
    max: 65_535,
    why: 'Port to listen on; 0 uses a free one',
  },
  SERVICE_TLS_CERT_FILE: {
    kind: 'path',
    default: null,
    why: 'Certificate in PEM with its chain, read again when it changes; unset: plain HTTP',
  },
  SERVICE_TLS_KEY_FILE: {
    kind: 'path',
    holdsSecret: true,
    default: null,
    why: 'Private key of the certificate, in PEM without a passphrase',
  },
  SERVICE_MAX_CONNECTIONS: {
    kind: 'integer',
    default: '25000',
    min: 10,
    max: 1_000_000,
    why: 'Maximum open connections of a process; further ones are closed at once',
  },
  SERVICE_DRAIN_DELAY_S: {
    kind: 'integer',
    default: '0',
    min: 0,
    max: 300,
    why: 'Seconds between SIGTERM and the close: `/readyz` is 503 and requests are served, so that proxies send traffic elsewhere',
  },
  SERVICE_PUBLIC_URL: {
    kind: 'url',
    schemes: ['http', 'https'],
    default: null,
    why: 'Public URL of the service, in links and tokens; unset: http://localhost:<port>, or https with a certificate',
  },
  SERVICE_DASHBOARD: {
    kind: 'text',
    oneOf: ['on', 'off'],
    default: 'on',
    why: 'Whether the service builds and serves dashboard, widget and the pages of mailed links: on or off',
  },
  SERVICE_DATA_DIR: {
    kind: 'path',
    default: './data',
    why: 'Folder for the embedded database, generated secrets and development mail',
  },
  SERVICE_MAIL_URL: {
    kind: 'url',
    holdsPassword: true,
    default: null,
    why: 'Mail server or folder: smtp://, smtps:// or file:<folder>; unset: the folder mail in SERVICE_DATA_DIR',
  },
  SERVICE_MAIL_FROM: {
    kind: 'text',
    default: null,
    why: 'Sender, as Name <address>; unset: no-reply at the host of SERVICE_PUBLIC_URL',
  },
  DATABASE_URL: {
    kind: 'url',
    schemes: ['postgres', 'postgresql'],
    holdsPassword: true,
    default: null,
    why: 'Postgres 15 or later; unset: the embedded database',
  },
  DATABASE_DIRECT_URL: {
    kind: 'url',
    schemes: ['postgres', 'postgresql'],
    holdsPassword: true,
    default: null,
    why: 'The same database without a pooler, for LISTEN, mail, migrations, backup and restore',
  },
  SERVICE_DATABASE_POOL: {
    kind: 'integer',
    default: '20',
    min: 1,
    max: 200,
    why: 'Connections for management requests, besides one per lane; one workspace uses at most half of them',
  },
  SERVICE_MIGRATE_WAIT_S: {
    kind: 'integer',
    default: '600',
    min: 0,
    max: 86_400,
    why: 'How long a migration tries to get its locks, in seconds; then it fails and names the holder',
  },
  REDIS_URL: {
    kind: 'url',
    schemes: ['redis', 'rediss'],
    isList: true,
    holdsPassword: true,
    default: null,
    why: 'Redis or Valkey 7 or later for rate-limit counters, single or cluster; unset: Postgres',
  },
  SERVICE_BOOTSTRAP_TOKEN: {
    kind: 'secret',
    default: null,
    min: 32,
    why: 'Token that can create workspaces; unset: disabled (an embedded database generates one)',
  },
  SERVICE_HOT_AUTH_CACHE_MS: {
    kind: 'integer',
    default: '5000',
    min: 0,
    max: 60_000,
    why: 'How long rate-limit checks and idempotency calls reuse the record of a secret key, in ms; 0: never',
  },
  SERVICE_REVOKE_WAIT_MS: {
    kind: 'integer',
    default: '15000',
    min: 0,
    max: 60_000,
    why: 'How long `revoke?wait=true` waits for nodes, in ms: two polls of 5 s and some slack',
  },
  SERVICE_POLICY_MAX_WHOLE_KEYS: {
    kind: 'integer',
    default: '10000',
    min: 1,
    max: 100_000,
    why: 'Maximum keys of a snapshot that is sent whole, without paging',
  },
  SERVICE_POLICY_MAX_PAGE_KEYS: {
    kind: 'integer',
    default: '5000',
    min: 1,
    max: 20_000,
    why: 'Maximum keys in a page of a snapshot, and changes in a delta',
  },
  SERVICE_MAX_HELD_POLLS: {
    kind: 'integer',
    default: '20000',
    min: 0,
    max: 1_000_000,
    why: 'Maximum polls that a process holds (`Prefer: wait`); further ones are answered at once',
  },
  SERVICE_MAX_HELD_POLLS_PER_WORKSPACE: {
    kind: 'integer',
    default: '10000',
    min: 0,
    max: 1_000_000,
    why: 'Maximum polls of one workspace that a process holds; further ones are answered at once',
  },
  SERVICE_MAX_STORED_ANSWER_BYTES_PER_WORKSPACE: {
    kind: 'integer',
    default: '10737418240',
    min: 0,
    max: 1_000_000_000_000_000,
    why: 'Maximum bytes of stored answers in each environment of a project: 10 GiB; further requests are completed but not replayed',
  },
  SERVICE_MAX_COUNTERS_PER_WORKSPACE: {
    kind: 'integer',
    default: '1000000',
    min: 0,
    max: 100_000_000,
    why: 'Maximum keys and tenants with rate-limit counters in each environment of a project; checks that need more are refused',
  },
  SERVICE_SIGN_UP: {
    kind: 'text',
    oneOf: ['open', 'invited', 'closed'],
    default: 'open',
    why: 'Who may create an account: open (any address), invited (addresses with a pending invitation) or closed (no address)',
  },
  SERVICE_MAX_WORKSPACES_PER_PERSON: {
    kind: 'integer',
    default: '25',
    min: 1,
    max: 100_000,
    why: 'Maximum workspaces that a person may own',
  },
  SERVICE_MAX_ACTIVE_SECRET_KEYS: {
    kind: 'integer',
    default: '1000',
    min: 1,
    max: 10_000,
    why: 'Maximum active secret keys of a workspace, per environment and per project that keys are bound to',
  },
  SERVICE_MAX_ACTIVE_KEYS_PER_TENANT: {
    kind: 'integer',
    default: '10000',
    min: 1,
    max: 10_000_000,
    why: 'Maximum active keys of a tenant, per project and environment; ten times as many may be revoked or expired',
  },
  SERVICE_EMBED_MAX_ACTIVE_KEYS: {
    kind: 'integer',
    default: '100',
    min: 1,
    max: 10_000_000,
    why: 'Maximum active keys of a tenant made with embed tokens, per project and environment',
  },
  SERVICE_SIGNING_KEY: {
    kind: 'secret',
    default: null,
    why: 'P-256 keys in PEM that sign embed tokens, preferably in SERVICE_SIGNING_KEY_FILE; unset: stored in the database',
  },
  SERVICE_ENCRYPTION_KEY: {
    kind: 'secret',
    default: null,
    min: 43,
    why: 'Master keys of 32 bytes for secrets in the database; the first one seals; required with DATABASE_URL',
  },
  SERVICE_PASSWORD_MIN_LENGTH: {
    kind: 'integer',
    default: '12',
    min: 8,
    max: 64,
    why: 'Minimum characters of a new password; the maximum is 256',
  },
  SERVICE_SESSION_MAX_AGE_S: {
    kind: 'integer',
    default: '604800',
    min: 60,
    max: 31_536_000,
    why: 'Maximum age of a session, in seconds: 7 days',
  },
  SERVICE_SESSION_IDLE_S: {
    kind: 'integer',
    default: '86400',
    min: 60,
    max: 31_536_000,
    why: 'Seconds without a request after which a session ends: 24 hours',
  },
  SERVICE_AUTH_PER_IP: {
    kind: 'integer',
    default: null,
    min: 1,
    max: 100_000,
    why: 'Maximum failed sign-ins a minute per client address (IPv6: per /64) in each process; unset: no limit',
  },
  SERVICE_TRUST_PROXY: {
    kind: 'proxies',
    default: '0',
    min: 0,
    max: 10,
    why: 'Trusted proxies, for X-Forwarded-For: how many are in front of the service, or their networks, separated by commas',
  },
  SERVICE_CODEHOST_KEYS_URL: {
    kind: 'url',
    schemes: ['https'],
    default: 'https://api.github.com/meta/public_keys/secret_scanning',
    why: 'URL of the public keys that verify leak reports',
  },
  SERVICE_CODEHOST_KEYS_FILE: {
    kind: 'path',
    default: null,
    why: 'File with the same JSON, used instead of the URL',
  },
  SERVICE_METRICS_PORT: {
    kind: 'integer',
    default: null,
    min: 0,
    max: 65_535,
    why: 'Separate port for Prometheus metrics, for at most 32 connections; unset: none',
  },
  SERVICE_LOG_LEVEL: {
    kind: 'text',
    oneOf: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    default: 'info',
    why: 'trace, debug, info, warn, error or silent; SIGUSR2 turns debug on and off',
  },
  SERVICE_LOG_SAMPLE: {
    kind: 'integer',
    default: '1',
    min: 1,
    max: 1_000_000,
    why: 'One in this many answered polls, checks and claims is logged at info, the others at debug; 1: all',
  },
} as const satisfies Record<string, Setting>
