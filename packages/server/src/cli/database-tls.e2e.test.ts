import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { type Authority, makeAuthority } from '../../test/authority.ts'
import { freePort } from '../../test/free-port.ts'
import { ask, Installation, looksLikeStack } from '../../test/installation.ts'
import { type ScratchCluster, startScratchCluster } from '../../test/scratch.ts'

const token = 'z'.repeat(32)

/** The certificate of a server is set for all of its databases, so this has its own. */
describe('TLS to a Postgres with the certificate of a company’s authority', () => {
  let cluster: ScratchCluster
  let plain: ScratchCluster
  let own: Authority
  let other: Authority
  let installation: Installation
  before(async () => {
    own = makeAuthority('Own')
    other = makeAuthority('Other')
    const settings = { listen_addresses: '127.0.0.1' }
    plain = await startScratchCluster({ settings: { ...settings, port: await freePort() } })
    const { cert, key } = own.issue('localhost', plain.dataDirectory)
    const tls = { ssl: true, ssl_cert_file: cert, ssl_key_file: key }
    cluster = await startScratchCluster({ settings: { ...settings, port: await freePort(), ...tls } })
    installation = new Installation({ DATABASE_URL: 'unset', SERVICE_DASHBOARD: 'off' })
  })
  after(async () => {
    await installation.remove()
    await cluster.remove()
    await plain.remove()
    own.remove()
    other.remove()
  })

  const urlTo = (host: string, more: string, { port, user, password, database } = cluster.connection) =>
    `postgres://${user}:${password}@${host}:${port}/${database}?${more}`
  const trusting = ({ file }: Authority) => `sslmode=verify-full&sslrootcert=${file}`

  test('with the authority’s certificate every connection of the service is encrypted', async () => {
    const DATABASE_URL = urlTo('localhost', trusting(own))
    const serving = await installation.serve({ DATABASE_URL, SERVICE_BOOTSTRAP_TOKEN: token })
    const body = { name: 'Acme', slug: 'acme' }
    const made = await ask(`${serving.url}/v1/workspaces`, { token, body })
    assert.equal(made?.status, 201)
    const owner = { token: made?.body.secret_key.key }
    assert.equal((await ask(`${serving.url}/v1/audit_logs/chain`, owner))?.body.valid, true)
    const observer = new pg.Client(cluster.connection)
    await observer.connect()
    const { rows } = await observer.query(
      `select ssl, count(*)::int as n from pg_stat_ssl join pg_stat_activity using (pid)
       where client_addr is not null group by ssl`,
    )
    await observer.end()
    assert.deepEqual(
      rows.map(({ ssl }) => ssl),
      [true],
    )
    // How many lanes have opened their connection by now differs from run to run.
    assert.ok(rows[0].n > 2, `${rows[0].n} connections`)
    const copy = join(installation.place.temp, 'copy')
    assert.equal((await installation.start(['backup', copy], { DATABASE_URL }).ended).code, 0)
    serving.child.kill('SIGTERM')
    assert.equal((await serving.ended).code, 0)
  })

  test('another authority, another name, no TLS: each is refused with what to do', async () => {
    const untrusted = /shows a certificate that no trusted authority has signed\..*sslrootcert=FILE/
    for (const [url, expected] of [
      [urlTo('localhost', trusting(other)), untrusted],
      [urlTo('localhost', 'sslmode=verify-full'), untrusted],
      [
        urlTo('127.0.0.1', trusting(own)),
        /127\.0\.0\.1:\d+ shows a certificate for another name: .*DNS:localhost/,
      ],
      [urlTo('localhost', trusting(own), plain.connection), /localhost:\d+ does not speak TLS/],
      [
        urlTo('localhost', 'sslmode=verify-full&sslrootcert=/nowhere/ca.pem'),
        /DATABASE_URL names sslrootcert=\/nowhere\/ca\.pem, which cannot be read \(ENOENT\)/,
      ],
    ] as const) {
      for (const command of ['serve', 'doctor', 'migrate']) {
        const { code, out, err } = await installation.start([command], { DATABASE_URL: url }).ended
        assert.equal(code, 1)
        assert.match(`${out}${err}`, expected)
        assert.ok(!looksLikeStack(err) && !`${out}${err}`.includes(String(cluster.connection.password)), err)
      }
    }
  })
})
