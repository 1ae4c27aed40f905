import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { readConfig } from '../packages/server/src/config.ts'
import { loginsSql } from '../packages/server/src/platform/db/roles/service-rights.ts'
import { settings } from '../packages/server/src/settings.ts'
import { encryptionKey } from '../packages/server/test/encryption-key.ts'
import { root } from '../packages/server/test/installation.ts'
import { shippedStages, textsOf } from './image-steps.ts'

interface Service {
  image: string
  build?: { context: string; dockerfile: string }
  command?: string[]
  ports?: string[]
  volumes?: string[]
  secrets?: string[]
  profiles?: string[]
  environment?: Record<string, string>
  depends_on?: Record<string, { condition: string }>
  read_only?: boolean
  tmpfs?: string
  mem_limit?: string
  logging?: { driver: string; options: Record<string, string> }
}

interface Compose {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
}

const folder = join(root, 'deploy')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')
const { services, secrets }: Compose = parse(read('compose.yaml'), { merge: true })
const all = Object.entries(services)
const keyrail = services.keyrail as Service

/** The files that `make-secrets.sh` makes, in a new folder. */
function makeSecrets(): string {
  const place = mkdtempSync(join(tmpdir(), 'keyrail-secrets-'))
  after(() => rmSync(place, { recursive: true, force: true }))
  copyFileSync(join(folder, 'make-secrets.sh'), join(place, 'make-secrets.sh'))
  for (const _ of ['once', 'again']) {
    const { status, stderr } = spawnSync('sh', [join(place, 'make-secrets.sh')], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
  }
  return join(place, 'secrets')
}

test('the variables of the service are settings, and make-secrets.sh makes values that it takes', () => {
  const made = makeSecrets()
  assert.equal(statSync(made).mode & 0o077, 0)
  const logins = { keyrail, keyrail_owner: services.migrate as Service }
  for (const [login, service] of Object.entries(logins)) {
    const env = Object.fromEntries(
      Object.entries(service.environment ?? {}).map(([name, value]) => {
        assert.ok(name in settings || name.replace(/_FILE$/, '') in settings, name)
        const [, secret] = /^\/run\/secrets\/(.+)$/.exec(value) ?? []
        if (secret === undefined) return [name, filledIn(value)]
        assert.ok(service.secrets?.includes(secret), secret)
        return [name, join(made, secret)]
      }),
    )
    const { config, warnings } = readConfig(env)
    assert.deepEqual(warnings, [])
    const url = new RegExp(`^postgres://${login}:[0-9a-f]{48}@postgres:5432/keyrail$`)
    assert.match(config.databaseUrl ?? '', url)
    assert.equal(config.encryptionKeys.length, 1)
  }
})

/** What compose puts in place of `${NAME:-value}`; a required variable gets one of its kind. */
const filledIn = (text: string): string =>
  text
    .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replace(/\$\{KEYRAIL_PUBLIC_URL:\?[^}]+\}/, 'https://keyrail.example.com')
    .replace(/\$\{KEYRAIL_MAIL_FROM:\?[^}]+\}/, 'Keyrail <no-reply@example.com>')

test('two variables are required, and the file names them', () => {
  const required = [...read('compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name)
  assert.deepEqual(required, ['KEYRAIL_PUBLIC_URL', 'KEYRAIL_MAIL_FROM'])
})

test('every file that is mounted or built exists, and every secret is made and declared', () => {
  const made = readdirSync(makeSecrets()).sort()
  assert.deepEqual(Object.keys(secrets).sort(), made)
  for (const [name, { file }] of Object.entries(secrets)) assert.equal(file, `./secrets/${name}`)
  for (const [name, { volumes = [], build, secrets: used = [] }] of all) {
    for (const volume of volumes.filter(text => text.startsWith('./')))
      assert.ok(existsSync(join(folder, volume.split(':')[0] ?? '')), `${name}: ${volume}`)
    for (const secret of used) assert.ok(secret in secrets, `${name}: ${secret}`)
    if (build !== undefined) assert.ok(existsSync(join(folder, build.context, build.dockerfile)), name)
  }
})

test('every log is rotated, and every service has a limit of memory that it fits into', () => {
  for (const [name, { logging, mem_limit }] of all) {
    assert.deepEqual(Object.keys(logging?.options ?? {}), ['max-size', 'max-file'], name)
    assert.match(filledIn(mem_limit ?? ''), /^\d+[mg]$/, name)
  }
  // A full server refuses new counters, where one beyond its limit would be killed.
  const command = services.redis?.command ?? []
  const most = /^(\d+)mb$/.exec(command[command.indexOf('--maxmemory') + 1] ?? '')?.[1]
  assert.equal(services.redis?.mem_limit, '1g')
  assert.ok(Number(most) <= 512)
})

test('ports are open on loopback alone, and no variable has a secret', () => {
  for (const [name, { ports = [], environment = {} }] of all) {
    for (const port of ports) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/, name)
    for (const [variable, value] of Object.entries(environment))
      if (/PASSWORD|TOKEN|KEY|DATABASE_URL|MAIL_URL/.test(variable)) {
        assert.match(variable, /_FILE$/, name)
        assert.match(value, /^\/run\/secrets\//, variable)
      }
  }
  assert.doesNotMatch(read('compose.yaml'), /:\/\/[^\s/]*:[^\s/]*@/)
})

test('the schema is migrated before the service starts, and both run confined', () => {
  const { migrate } = services
  assert.deepEqual(migrate?.command, ['migrate'])
  assert.deepEqual(keyrail.command, ['serve'])
  assert.equal(keyrail.depends_on?.migrate?.condition, 'service_completed_successfully')
  assert.equal(migrate.depends_on?.postgres?.condition, 'service_healthy')
  for (const service of [migrate, keyrail]) {
    assert.deepEqual([service.read_only, service.tmpfs], [true, '/tmp'])
    assert.equal(
      service.image,
      `keyrail:${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}`,
    )
  }
  for (const command of ['migrate', 'serve']) {
    const [, ...words] = JSON.parse(textsOf(shippedStages().at(-1) ?? assert.fail(), 'ENTRYPOINT')[0] ?? '')
    const { status } = spawnSync(process.execPath, [...words, command, '--help'], { cwd: root })
    assert.equal(status, 0, command)
  }
})

test('backups run as the owner, and the database for their checks is made', () => {
  const { backup } = services
  assert.deepEqual([backup?.image, backup?.read_only], [keyrail.image, true])
  assert.deepEqual(backup?.environment, services.migrate?.environment)
  assert.ok(backup?.command?.includes('--check-database=keyrail_check'))
  assert.ok(
    read('postgres/make-database.sh').includes('create database "keyrail_check" owner "keyrail_owner";'),
  )
  const [, folder] = backup?.command ?? []
  assert.ok(backup?.volumes?.some(volume => volume.endsWith(`:${folder}`)))
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: 'postgres://u@localhost/d',
    SERVICE_ENCRYPTION_KEY: encryptionKey,
  }
  const words = (backup?.command ?? []).map(filledIn)
  const run = spawnSync(process.execPath, ['packages/server/src/cli/main.ts', ...words], {
    cwd: root,
    env,
    encoding: 'utf8',
  })
  assert.match(run.stderr, /^Error: "" is not a recipient of age/)
})

test('further services run by profile', () => {
  const profiles = Object.fromEntries(all.flatMap(([name, { profiles: of }]) => (of ? [[name, of]] : [])))
  assert.deepEqual(profiles, {
    backup: ['backup'],
    mail: ['dev'],
    redis: ['redis'],
    prometheus: ['watch'],
    alertmanager: ['watch'],
    grafana: ['watch'],
  })
})

test('the database gets the logins of keyrail roles; only the migration has the owner’s', () => {
  const script = read('postgres/make-database.sh')
  const logins = { owner: 'keyrail_owner', service: 'keyrail', database: 'keyrail' }
  assert.ok(script.includes(loginsSql(logins)))
  assert.ok(!keyrail.secrets?.some(name => name.startsWith('owner')))
  assert.equal(spawnSync('bash', ['-n', join(folder, 'postgres/make-database.sh')]).status, 0)
  // Else Postgres' image reads it into its own script.
  assert.ok(statSync(join(folder, 'postgres/make-database.sh')).mode & 0o001)
})

test('Prometheus reads the metrics port of the service, and the alerts that are mounted', () => {
  const { scrape_configs: scraped, rule_files: rules } = parse(read('watch/prometheus.yaml'))
  assert.deepEqual(scraped[0].static_configs[0].targets, [
    `keyrail:${keyrail.environment?.SERVICE_METRICS_PORT}`,
  ])
  assert.ok(services.prometheus?.volumes?.some(volume => volume.endsWith(`/${rules[0]}:ro`)))
})

test('Prometheus reads when the last backup was made from the service that makes them', () => {
  const [, backups] = parse(read('watch/prometheus.yaml')).scrape_configs
  const [, port] = /^backup:(\d+)$/.exec(backups.static_configs[0].targets[0]) ?? []
  assert.ok(services.backup?.command?.includes(`--metrics-port=${port}`))
  // The address of the image, and not that of the command by itself.
  assert.ok(
    textsOf(shippedStages().at(-1) ?? assert.fail(), 'ENV')
      .join()
      .includes('SERVICE_HOST=0.0.0.0'),
  )
})

test('alerts go to the Alertmanager, which has a receiver for each severity, to fill in', () => {
  const { alerting, rule_files: files } = parse(read('watch/prometheus.yaml'))
  const { alertmanager } = services
  const [, port] = /^alertmanager:(\d+)$/.exec(alerting.alertmanagers[0].static_configs[0].targets[0]) ?? []
  assert.deepEqual(alertmanager?.ports, [`127.0.0.1:${port}:${port}`])
  const [mount = ''] = alertmanager?.volumes ?? []
  assert.equal(filledIn(mount), './watch/alertmanager.yaml:/etc/alertmanager/alertmanager.yml:ro')
  const { route, receivers } = parse(read('watch/alertmanager.yaml'))
  const rules = parse(read(`watch/${files[0]}`)).groups[0].rules
  const taken = (severity: string) =>
    route.routes.find(({ matchers }: { matchers: string[] }) => matchers.includes(`severity="${severity}"`))
      ?.receiver ?? route.receiver
  for (const { alert, labels } of rules) assert.equal(taken(labels.severity), labels.severity, alert)
  for (const severity of ['page', 'ticket']) {
    const receiver = receivers.find(({ name }: { name: string }) => name === severity)
    // Reserved by RFC 6761: the placeholder reaches no one, and says so in the log of Alertmanager.
    assert.match(receiver.webhook_configs[0].url, /^http:\/\/\w+\.receiver\.invalid\/$/)
  }
  const { inhibit_rules: inhibits } = parse(read('watch/alertmanager.yaml'))
  const named = JSON.stringify(inhibits).match(/Keyrail\w+/g) ?? []
  for (const name of named)
    assert.ok(
      rules.some(({ alert }: { alert: string }) => alert === name),
      name,
    )
})

test('Grafana reads that Prometheus, and shows the board that is mounted', () => {
  const [source] = parse(read('watch/grafana/datasource.yaml')).datasources
  const [, port] = /^http:\/\/prometheus:(\d+)$/.exec(source.url) ?? []
  assert.deepEqual(services.prometheus?.ports, [`127.0.0.1:${port}:${port}`])
  const board = JSON.parse(read('watch/grafana/keyrail.json'))
  for (const panel of board.panels)
    if (panel.type !== 'row') assert.equal(panel.datasource.type, source.type, panel.title)
  const [chosen] = board.templating.list
  assert.deepEqual([chosen.query, chosen.current.value], [source.type, source.uid])
  const [provider] = parse(read('watch/grafana/dashboards.yaml')).providers
  assert.ok(
    services.grafana?.volumes?.includes(
      `./watch/grafana/keyrail.json:${provider.options.path}/keyrail.json:ro`,
    ),
  )
})

test('the metrics port is open to the other services alone, and never on the host', () => {
  const port = String(keyrail.environment?.SERVICE_METRICS_PORT)
  for (const [name, { ports = [] }] of all)
    for (const mapping of ports) assert.ok(!mapping.endsWith(`:${port}`), name)
  assert.ok(!(keyrail.ports ?? []).some(mapping => mapping.includes(port)))
})
