import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeManyOnce } from './bulks.ts'
import {
  among,
  type Bound,
  bound,
  bytes,
  length,
  meta,
  pattern,
  rateLimits,
  readConstraints,
  repeated,
  strings,
  summed,
  word,
} from './column-bounds.ts'
import { mintToken } from './embed.ts'
import { startHarness } from './harness.ts'
import { makeMailedToken, makePerson } from './people.ts'
import { projectBounds, slug } from './project-bounds.ts'
import { stopBounds } from './stop-bounds.ts'
import {
  answerOnce,
  endOnce,
  issueKey,
  leakOnce,
  makeInvite,
  makeVendor,
  spendOnce,
  useOnce,
} from './vendor.ts'

/**
 * The database refuses what the contract refuses. Direct SQL tries each check constraint, past the service, with
 * values at its bound and beyond. A constraint without an entry here fails the test.
 */
const harness = await startHarness()
const { query, ask } = harness
const vendor = await makeVendor(harness)
await issueKey(harness, vendor)
await ask('PATCH', '/v1/workspace', { token: vendor.live, body: { billing_email: 'billing@example.com' } })
await ask('POST', '/v1/projects', {
  token: vendor.live,
  headers: { 'idempotency-key': 'bounds' },
  body: { name: 'two words', slug: 'bounds' },
})
await ask('GET', `/v1/policy/delta?project_id=${vendor.projectId}&since=1&node=one`, { token: vendor.live })

await spendOnce(harness, vendor)
await answerOnce(harness, vendor)
await useOnce(harness, vendor)
await mintToken(harness, vendor)

const { userId } = await makePerson(query, { workspaceId: vendor.workspaceId })
await makeMailedToken(query, userId, 'verification')
await query('insert into disownings (user_id) values ($1)', [userId])
await makeInvite(harness, vendor)
await harness.deps.workspaceLoads.flush()
await leakOnce(harness, vendor)
await endOnce(harness, vendor)
await changeManyOnce(harness, vendor)
await query(
  `insert into mail_throttles (address_hash, kind, queued_at, expires_at)
   values (sha256('x'), 'reset', array[now()], now())`,
)
await query(
  `insert into letter_counts (sender_hash, sent_at, expires_at) values (sha256('x'), array[now()], now())`,
)

const roles = ['owner', 'admin', 'member']
const environments = ['live', 'test']

const bounds: Record<string, Bound> = {
  ...projectBounds,
  ...stopBounds,
  api_keys_env: among('env', environments),
  api_keys_lookup_hash_length: bytes('lookup_hash', 32),
  api_keys_meta_bounds: meta('meta'),
  api_keys_name_bounds: length('name', 1, 200),
  api_keys_rate_limits_bounds: rateLimits('rate_limits', true),
  api_keys_reason_bounds: length('revoked_reason', 1, 500),
  api_keys_scopes_bounds: bound(
    'scopes',
    [`'{}'`, strings(64), strings(1, repeated(200))],
    [strings(65), `'{""}'`, strings(1, repeated(201))],
  ),
  audit_addresses_salt_length: bytes('salt', 16),
  audit_callers_ip_bounds: bound('ip', [repeated(64)], [`''`, repeated(65)]),
  audit_callers_order: bound('last_seq', ['first_seq'], ['first_seq - 1']),
  audit_heads_hash_length: bytes('hash', 32),
  audit_heads_seq: bound('seq', ['0'], ['-1']),
  audit_logs_action: bound('action', [`'a_b.c_d'`], [`''`, `'A.b'`, `'a."'`, `'a.1'`]),
  audit_logs_actor_id: bound(
    'actor_id',
    ['null', `repeat('a', 128)`],
    [`''`, `repeat('a', 129)`, `'"'`, `'é'`],
  ),
  audit_logs_actor_type: bound('actor_type', [`'a_b'`], [`''`, `'A'`, `'a"'`]),
  audit_logs_env: bound('env', ['null', `'live'`, `'test'`], [`''`, `'x'`]),
  audit_logs_hash_length: bytes('hash', 32),
  audit_logs_payload: bound('payload', [`'{}'`], [`'[]'`, `'null'`, `'1'`]),
  audit_logs_prev_hash_length: bytes('prev_hash', 32),
  audit_logs_seq: bound('seq', ['1000000'], ['0', '-1']),
  audit_logs_target_type: bound('target_type', [`'a_b'`], [`''`, `'A'`, `'a"'`]),
  credentials_digest_length: bytes('digest', 32),
  credentials_kind: among('kind', ['api_key', 'secret_key', 'session']),
  idempotency_bodies_body_bounds: bound(
    'body',
    [`''`, `convert_to(repeat('a', 4718592), 'UTF8')`],
    [`convert_to(repeat('a', 4718593), 'UTF8')`],
  ),
  idempotency_bodies_env: among('env', environments),
  idempotency_bodies_headers_bounds: bound(
    'headers',
    [`'{}'`, `json_build_object('x', repeat('a', 8388608 - 10))`],
    [`json_build_object('x', repeat('a', 8388608 - 9))`, `'[]'`, `'null'`, `'"x"'`],
  ),
  idempotency_bodies_lock_token_bounds: length('lock_token', 8, 64, false),
  idempotency_bodies_scope_hash_length: bytes('scope_hash', 32),
  idempotency_held_bytes_bounds: bound('bytes', ['0'], ['-1']),
  idempotency_held_env: among('env', environments),
  idempotency_stored_bytes_bounds: bound('bytes', ['0'], ['-1']),
  idempotency_claims_answer_bytes_bounds: bound('answer_bytes', ['null', '0', '2147483647'], ['-1']),
  idempotency_claims_answered: bound('status', ['200'], ['null']),
  idempotency_claims_env: among('env', environments),
  idempotency_claims_fingerprint_length: bytes('fingerprint', 32),
  idempotency_claims_kept_until: bound(
    'kept_until',
    ['expires_at'],
    [`expires_at - interval '1 millisecond'`],
  ),
  idempotency_claims_lock_token_bounds: length('lock_token', 8, 64, false),
  idempotency_claims_scope_hash_length: bytes('scope_hash', 32),
  idempotency_claims_status_bounds: bound('status', ['100', '599'], ['99', '600']),
  idempotency_claims_ttl_bounds: bound('ttl_ms', ['60000', '604800000'], ['59999', '604800001']),
  leak_reports_display_prefix_bounds: length('display_prefix', 1, 64, false),
  endings_invitations_revoked: bound('invitations_revoked', ['0', '7'], ['-1']),
  endings_maker_type: among('maker_type', ['user', 'secret_key', 'session']),
  endings_secret_keys_revoked: bound('secret_keys_revoked', ['0', '7'], ['-1']),
  leak_reports_invitations_revoked: bound('invitations_revoked', ['0', '7'], ['-1']),
  leak_reports_kind: among('kind', ['api_key', 'secret_key', 'session']),
  leak_reports_secret_keys_revoked: bound('secret_keys_revoked', ['0', '7'], ['-1']),
  leak_reports_source_bounds: length('source', 1, 200),
  leak_reports_url_bounds: length('url', 1, 2_000),
  letter_counts_sender_hash_length: bytes('sender_hash', 32),
  letter_counts_sent_at_bounds: bound(
    'sent_at',
    ['array[now()]', 'array_fill(now(), array[1000])'],
    [`'{}'`, 'array_fill(now(), array[1001])'],
  ),
  mail_throttles_address_hash_length: bytes('address_hash', 32),
  mail_throttles_kind_bounds: word('kind', 40),
  mail_throttles_queued_at_bounds: bound(
    'queued_at',
    ['array[now()]', 'array_fill(now(), array[5])'],
    [`'{}'`, 'array_fill(now(), array[6])'],
  ),
  disownings_token_digest_length: bytes('token_digest', 32),
  mail_tokens_digest_length: bytes('digest', 32),
  mail_tokens_kind: among('kind', ['verification', 'password_reset']),
  name_words_word_bounds: bound('word', [`'a'`, repeated(64)], [`''`, repeated(65)]),
  policy_heads_floor: bound('floor', ['1', 'version'], ['0', 'version + 1']),
  policy_nodes_node_bounds: pattern('node', '^[A-Za-z0-9._:-]{1,128}$'),
  policy_nodes_sees: among('sees', [...environments, 'both']),
  policy_nodes_version: bound('version', ['0', '1000000'], ['-1']),
  rate_counters_cells: bound(
    'cells',
    [`'[]'`, `rpad('[', 65535) || ']'`],
    [`'{}'`, `''`, `'null'`, `rpad('[', 65536) || ']'`],
  ),
  rate_counters_env: among('env', environments),
  rate_counters_kind: among('kind', ['key', 'tenant', 'no_key', 'no_tenant']),
  replays_fingerprint_length: bytes('fingerprint', 32),
  replays_key_bounds: bound('key', [`'a'`, `repeat('a', 255)`], [`''`, `repeat('a', 256)`]),
  secret_keys_allowed_cidrs_bounds: bound(
    'allowed_cidrs',
    ['null', strings(32, `'::/0'`), strings(1, `repeat('a', 43)`)],
    [`'{}'`, strings(33, `'::/0'`), `'{::/}'`, strings(1, `repeat('a', 44)`)],
  ),
  secret_keys_created_by: among('created_by_type', ['user', 'secret_key', 'bootstrap', 'operator']),
  secret_keys_env: among('env', environments),
  secret_keys_meta_bounds: meta('meta'),
  secret_keys_name_bounds: length('name', 1, 200),
  secret_keys_permissions_bounds: bound(
    'permissions',
    ['null', strings(64, `'a:b'`), strings(1, `repeat('a', 40)`)],
    [`'{}'`, strings(65, `'a:b'`), `'{ab}'`, strings(1, `repeat('a', 41)`)],
  ),
  secret_keys_project_ids_bounds: bound(
    'project_ids',
    ['null', 'array_fill(gen_random_uuid(), array[50])'],
    [`'{}'`, 'array_fill(gen_random_uuid(), array[51])'],
  ),
  secret_keys_reason_bounds: length('revoked_reason', 1, 500),
  secret_keys_role: among('role', ['owner', 'admin']),
  security_events_actor_id_bounds: bound('actor_id', ['null', repeated(64)], [repeated(65)]),
  security_events_actor_type: word('actor_type', 20, true),
  security_events_count_bounds: bound('count', ['1', '2147483647'], ['0', '-1']),
  security_events_details_bounds: bound(
    'details',
    [`'{}'`, `json_build_object('x', repeat('a', 1000 - 9))`],
    [`json_build_object('x', repeat('a', 1000 - 8))`, `'[]'`, `'null'`, `'"x"'`],
  ),
  security_events_device_length: { ...bytes('device', 32), ok: ['null', `'\\x${'00'.repeat(32)}'`] },
  security_events_ip_bounds: bound('ip', ['null', repeated(64)], [repeated(65)]),
  security_events_kind: word('kind', 40),
  security_events_user_agent_bounds: bound('user_agent', ['null', `''`, repeated(200)], [repeated(201)]),
  sessions_ip_bounds: bound('ip', ['null', repeated(64)], [repeated(65)]),
  sessions_leaked_url_bounds: length('leaked_url', 1, 2_000),
  sessions_user_agent_bounds: bound('user_agent', ['null', `''`, repeated(500)], [repeated(501)]),
  service_secrets_kept: bound('sealed', [`'\\x00'`], ['null']),
  signing_keys_kept: bound('sealed', [`'\\x00'`], ['null']),
  signing_keys_kid_form: pattern('kid', '^[A-Za-z0-9_-]{43}$'),
  tenants_embed_epoch: bound('embed_epoch', ['1', '2'], ['0', '-1']),
  tenants_external_id_bounds: length('external_id', 1, 200, false),
  tenants_meta_bounds: meta('meta'),
  tenants_name_bounds: length('name', 1, 200),
  user_passwords_hash_form: bound(
    'hash',
    [`'$argon2id$v=19'`],
    [`''`, `'$argon2i$v=19'`, `'x$argon2id$v=19'`, `'correct horse battery staple'`],
  ),
  users_email_bounds: length('email', 3, 320, false),
  users_name_bounds: length('name', 1, 200),
  workspace_invites_created_by: among('created_by_type', ['user', 'secret_key']),
  workspace_invites_digest_length: bytes('digest', 32),
  workspace_invites_email_bounds: length('email', 3, 320, false),
  workspace_invites_mailed_digest_length: bytes('mailed_digest', 32),
  workspace_invites_role: among('role', roles),
  workspace_loads_connection_ms: bound('connection_ms', ['0', '1'], ['-1']),
  workspace_loads_hour: bound('hour', [`'2028-02-29T23:00Z'`], [`'2028-02-29T23:00:00.001Z'`]),
  workspace_loads_requests: bound('requests', ['0', '1'], ['-1']),
  workspace_members_role: among('role', roles),
  refusal_days_reason: word('reason', 32),
  shadow_days_reason: word('reason', 32),
  ...summed('refusal_days'),
  ...summed('shadow_days'),
  ...summed('usage_days'),
  ...summed('usage_months'),
  usage_hours_requests_bounds: bound('requests', ['1e-9', '1', '1e30'], ['0', '-1']),
  usage_months_month: bound('month', [`'2028-02-01'`], [`'2028-02-02'`, `'2028-02-29'`]),
  usage_reports_accepted_bounds: bound('accepted', ['0', '1000'], ['-1', '1001']),
  usage_reports_env: among('env', environments),
  usage_reports_ignored_bounds: bound('ignored', ['0', '1000'], ['-1', '1001']),
  workspaces_billing_email_bounds: bound(
    'billing_email',
    ['null', `'a@b'`, `repeat('a', 320)`],
    [`'a@'`, `repeat('a', 321)`],
  ),
  workspaces_embed_accent_form: pattern('embed_accent', '^#[0-9A-Fa-f]{6}$'),
  workspaces_embed_logo_text_bounds: length('embed_logo_text', 1, 40),
  workspaces_embed_origins_bounds: bound(
    'embed_origins',
    [`'{}'`, strings(20, `'http://a'`), strings(1, `repeat('a', 255)`)],
    [strings(21, `'http://a'`), `'{x}'`, strings(1, `repeat('a', 256)`)],
  ),
  workspaces_embed_radius_bounds: bound('embed_radius', ['0', '24', 'null'], ['-1', '25']),
  workspaces_name_bounds: length('name', 1, 200, false),
  workspaces_slug_bounds: pattern('slug', slug),
}

const constraints = await readConstraints(query)

test('every constraint has bounds here, and every entry has a constraint', () => {
  assert.deepEqual(Object.keys(bounds).toSorted(), constraints.map(({ name }) => name).toSorted())
})

for (const { table, name } of constraints) {
  test(`${name} accepts values at its bounds and nothing beyond`, async () => {
    const { column, ok, bad } = bounds[name] ?? bound('', [], [])
    assert.ok(ok.length > 0 && bad.length > 0)
    for (const value of ok) assert.equal(await refusalOf(table, column, value), null, value.slice(0, 200))
    for (const value of bad) assert.equal(await refusalOf(table, column, value), name, value.slice(0, 200))
  })
}

/** The check constraint that refuses a value on an existing row, or null. The change is rolled back. */
async function refusalOf(table: string, column: string, value: string): Promise<string | null> {
  await query('begin')
  try {
    // Turns off other rules, such as foreign keys.
    await query(`set local session_replication_role = replica`)
    await query(`update ${table} set ${column} = ${value} where ctid = (select ctid from ${table} limit 1)`)
    return null
  } catch (error) {
    const { code, constraint } = error as { code: string; constraint: string }
    if (code !== '23514') throw error
    return constraint
  } finally {
    await query('rollback')
  }
}
