import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { codeBlocks, readDocument, section } from '../docs/documents.ts'
import { drainMsMax } from '../packages/server/src/cli/serve/drain.ts'
import { root } from '../packages/server/test/installation.ts'
import { secretSettings, settingsOfChart } from './chart-settings.ts'
import { shippedStages, textsOf } from './image-steps.ts'

const folder = join(root, 'deploy/helm/keyrail')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')
const schema = JSON.parse(read('values.schema.json'))
const templates = readdirSync(join(folder, 'templates')).map(name => read(`templates/${name}`))
const all = templates.join('\n')

type Values = Record<string, unknown>
const readValues = (): Values => parse(read('values.yaml'))
const values = readValues()
const isValid = new Ajv({ strict: true, allowUnionTypes: true }).compile(schema)

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Paths of the values, such as `image.tag`; an empty map or a list is one value. */
const pathsOf = (map: Values, before = ''): string[] =>
  Object.entries(map).flatMap(([name, value]) =>
    isMap(value) && Object.keys(value).length > 0 ? pathsOf(value, `${before}${name}.`) : [before + name],
  )

const has = (path: string): boolean =>
  path.split('.').reduce<unknown>((value, name) => (isMap(value) ? value[name] : undefined), values) !==
  undefined

/** Replaces one value. */
function changed(path: string, value: unknown): Values {
  const copy = readValues()
  const names = path.split('.')
  const last = names.pop() ?? ''
  const map = names.reduce<Values>((inner, name) => inner[name] as Values, copy)
  map[last] = value
  return copy
}

test('the schema takes the values of the chart, and has each of them', () => {
  assert.ok(isValid(values), JSON.stringify(isValid.errors))
  const names = Object.keys(schema.properties).filter(name => name !== 'global')
  assert.deepEqual(names.sort(), Object.keys(values).sort())
})

for (const [path, wrong, right] of [
  ['replicas', -1, 5],
  ['replicas', 'three', 0],
  ['existingSecret', 7, 'keyrail'],
  ['image.tag', 'two words', `sha256:${'0'.repeat(64)}`],
  ['image.pullPolicy', 'Sometimes', 'Always'],
  ['secretKeys.databaseUrl', '', 'url'],
  ['secretKeys.password', 'password', undefined],
  ['settings.SERVICE_LOG_LEVEL', 'loud', 'warn'],
  ['settings.SERVICE_LOGLEVEL', 'warn', undefined],
  ['settings.DATABASE_URL', 'postgres://keyrail:secret@db/keyrail', undefined],
  ['settings.SERVICE_DATABASE_POOL', 0, 40],
  ['settings.SERVICE_TRUST_PROXY', 11, 2],
  ['settings.SERVICE_TRUST_PROXY', 'everybody', '10.42.7.0/24,2001:db8:7::/64'],
  ['networkPolicy.ingressFrom', [], [{ podSelector: { matchLabels: { app: 'ingress' } } }]],
  ['networkPolicy.ingressFrom', 'nobody', 'everywhere'],
  ['drainDelaySeconds', 301, 0],
  ['terminationGracePeriodSeconds', 5, 60],
  ['podDisruptionBudget.maxUnavailable', 'one', '25%'],
  ['service.type', 'ExternalName', 'LoadBalancer'],
  ['tls.existingSecret', true, 'keyrail-tls'],
  ['metrics.serviceMonitor.interval', 30, '1m'],
  ['resources.limit', { memory: '1Gi' }, undefined],
  ['replicaCount', 3, undefined],
] as const) {
  test(`the schema refuses ${path} as ${JSON.stringify(wrong)}`, () => {
    assert.equal(isValid(changed(path, wrong)), false)
    if (right !== undefined) assert.ok(isValid(changed(path, right)), JSON.stringify(isValid.errors))
  })
}

test('every value that a template names exists, and every value has a template', () => {
  // `secretKeys` is entered with `with`.
  const keys = [...all.matchAll(/\(list "\w+" \.(\w+)\)/g)].map(([, name]) => `secretKeys.${name}`)
  const named = [...[...all.matchAll(/\.Values\.([\w.]+\w)/g)].map(([, path = '']) => path), ...keys]
  assert.ok(named.length > 30)
  for (const path of named) assert.ok(has(path), path)
  for (const path of pathsOf(values)) {
    const isNamed = named.some(
      name => path === name || (name !== 'secretKeys' && path.startsWith(`${name}.`)),
    )
    assert.ok(isNamed, path)
  }
})

test('the settings of the chart are those of the service, with bounds; secrets are files', () => {
  assert.deepEqual(schema.properties.settings.properties, settingsOfChart())
  const files = [...all.matchAll(/\(list "(\w+)_FILE" \.\w+\)/g)].map(([, name]) => name)
  assert.deepEqual(files.sort(), secretSettings().sort())
})

test('the schema is migrated by a hook before the pods are replaced', () => {
  const migrate = read('templates/migrate.yaml')
  assert.match(migrate, /helm\.sh\/hook: pre-install,pre-upgrade\n/)
  assert.match(migrate, /args: \[migrate\]\n/)
  // As the owner of the tables, whose URL no pod of the service gets.
  assert.match(migrate, /include "keyrail.container" \$asOwner/)
  const withOwner = templates.filter(text => /keyrail\.asOwner" \(|ownerUrl/.test(text))
  assert.deepEqual(withOwner, [read('templates/_helpers.tpl'), read('templates/backup.yaml'), migrate])
  assert.match(read('templates/deployment.yaml'), /args: \[serve\]\n/)
})

test('the drain fits into the grace period, and readiness is asked within it', () => {
  const grace = Number(values.terminationGracePeriodSeconds)
  const delay = Number(values.drainDelaySeconds)
  assert.equal(grace, 45)
  assert.ok(delay + drainMsMax / 1_000 < grace)
  const [, period, failures] =
    /path: \/readyz.*\n\s+periodSeconds: (\d+)\n.*\n\s+failureThreshold: (\d+)/.exec(all) ?? []
  assert.equal(period, '2')
  assert.ok(Number(period) * Number(failures) < delay)
})

test('the pods run as the account of the image, on a root that is read-only, with its ports', () => {
  const user = textsOf(shippedStages().at(-1) ?? assert.fail(), 'USER')[0]
  const [, uid] = /runAsUser: (\d+)/.exec(all) ?? []
  const [, gid] = /runAsGroup: (\d+)/.exec(all) ?? []
  assert.equal(`${uid}:${gid}`, user)
  assert.match(all, /readOnlyRootFilesystem: true/)
  assert.match(all, /containerPort: 8080/)
})

test('with a Secret for TLS its files are mounted and set, and the probes speak TLS', () => {
  const mounts = [...all.matchAll(/mountPath: (\/run\/secrets\/keyrail-tls)\n/g)].map(([, path]) => path)
  assert.equal(mounts.length, 1)
  for (const [setting, file] of [
    ['SERVICE_TLS_CERT_FILE', 'tls.crt'],
    ['SERVICE_TLS_KEY_FILE', 'tls.key'],
  ])
    assert.ok(all.includes(`- name: ${setting}\n    value: ${mounts[0]}/${file}\n`), setting)
  const probes = [...read('templates/deployment.yaml').matchAll(/httpGet: .+/g)].map(([line]) => line)
  assert.equal(probes.length, 3)
  const scheme = 'scheme: {{ empty .Values.tls.existingSecret | ternary "HTTP" "HTTPS" }} }'
  for (const line of probes) assert.ok(line.endsWith(scheme), line)
})

test('the monitor gives series the job that the alerts ask for', () => {
  const alerts = readFileSync(join(root, 'deploy/watch/alerts.yaml'), 'utf8')
  const jobs = new Set([...alerts.matchAll(/job="([^"]+)"/g)].map(([, job]) => job))
  // By default it would be the name of the Service. The label is one of `keyrail.labels`.
  assert.match(read('templates/servicemonitor.yaml'), /\n {2}jobLabel: app\.kubernetes\.io\/name\n/)
  assert.match(read('templates/_helpers.tpl'), /\napp\.kubernetes\.io\/name: \{\{ \.Chart\.Name \}\}\n/)
  assert.deepEqual([...jobs], [parse(read('Chart.yaml')).name])
})

test('the chart has the version of Keyrail', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  assert.equal(parse(read('Chart.yaml')).appVersion, version)
})

test('the values that the page shows fit the schema, and it makes every secret that they need', () => {
  const blocks = codeBlocks(section(readDocument('docs/deploy.md'), 'Kubernetes'))
  const textOf = (language: string) => blocks.find(block => block.language === language)?.text ?? ''
  const shown = parse(textOf('yaml')) as Values
  const merged = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isMap(value) && isMap(shown[name]) ? { ...value, ...shown[name] } : (shown[name] ?? value),
    ]),
  )
  assert.ok(isValid(merged), JSON.stringify(isValid.errors))
  for (const name of Object.keys(shown)) assert.ok(name in values, name)
  const shell = textOf('sh')
  const given = [...shell.matchAll(/--from-file=(\S+)/g)].map(([, file]) => file)
  const needed = Object.values(merged.secretKeys as Values).filter(key => key !== '')
  assert.deepEqual(given.toSorted(), needed.toSorted())
  for (const file of given) assert.match(shell, new RegExp(`> ${file}( |$)`, 'm'))
})
