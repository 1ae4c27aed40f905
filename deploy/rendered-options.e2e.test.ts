import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { connectionsOf } from '../packages/server/src/platform/db/pool/connection-need.ts'
import { settings } from '../packages/server/src/settings.ts'
import { root } from '../packages/server/test/installation.ts'
import { buildRenderer, type Manifest } from './rendered-chart.ts'
import { kindsOf, mountsOf, one, podOf } from './rendered-pods.ts'

const renderer = buildRenderer()
after(() => renderer.remove())

const read = (path: string) => readFileSync(join(root, 'deploy', path), 'utf8')
const plain = { existingSecret: 'keyrail-secrets' }
const isValid = new Ajv({ strict: true, allowUnionTypes: true }).compile(
  JSON.parse(read('helm/keyrail/values.schema.json')),
)
/** The values of a file of the chart, as `--values` gives them. */
function valuesOf(name: string): Record<string, unknown> {
  const values: Record<string, unknown> = { ...plain, ...parse(read(`helm/keyrail/values-${name}.yaml`)) }
  assert.ok(isValid(values), JSON.stringify(isValid.errors))
  return values
}
const specOf = (manifests: Manifest[], kind: string, name = 'keyrail') => one(manifests, kind, name).spec
const backup = {
  enabled: true,
  recipient: 'age1recipient',
  upload: {
    image: 'registry.example.com/s3:1',
    command: ['/store'],
    envFrom: [{ secretRef: { name: 's3' } }],
  },
}
/** Every pod of a release with everything on. */
const podsOf = (values: object): Record<string, ReturnType<typeof podOf>> => {
  const manifests = renderer.render({ ...plain, backup, ...values })
  const cron = one(manifests, 'CronJob', 'keyrail-backup').spec.jobTemplate.spec.template.spec
  const within = (pod: Manifest['spec'], containers = pod.containers) =>
    podOf({ spec: { template: { spec: { ...pod, containers } } } } as unknown as Manifest)
  return {
    service: podOf(one(manifests, 'Deployment')),
    migration: podOf(one(manifests, 'Job', 'keyrail-migrate')),
    backup: within(cron, cron.initContainers),
    test: within(one(manifests, 'Pod', 'keyrail-test').spec),
  }
}

test('each container has its memory, and the autoscaler goes by it and by processor time', () => {
  const manifests = renderer.render({ ...plain, autoscaling: { enabled: true } })
  assert.equal(podOf(one(manifests, 'Deployment')).container.resources.requests.memory, '512Mi')
  for (const [name, { container }] of Object.entries(podsOf({}))) assert.ok(container.resources.limits, name)
  const metricsOf = (autoscaling: object) =>
    specOf(
      renderer.render({ ...plain, autoscaling: { enabled: true, ...autoscaling } }),
      'HorizontalPodAutoscaler',
    ).metrics.map(({ resource }: Manifest) => [resource.name, resource.target.averageUtilization])
  assert.deepEqual(metricsOf({}), [
    ['cpu', 70],
    ['memory', 80],
  ])
  assert.deepEqual(metricsOf({ targetMemoryUtilizationPercentage: 0 }), [['cpu', 70]])
})

test('the notes count the connections of all pods, and warn when Postgres has too few', () => {
  const each = connectionsOf(Number(settings.SERVICE_DATABASE_POOL.default))
  const notes = (values: object) => renderer.notes({ ...plain, ...values })
  const asIs = notes({})
  assert.ok(asIs.includes(`A pod opens up to ${each} connections to Postgres. With 4 pods`), asIs)
  assert.doesNotMatch(asIs, /WARNING/)
  const enough = notes({ database: { maxConnections: 4 * each + 6 } })
  assert.doesNotMatch(enough, /WARNING/)
  assert.match(notes({ database: { maxConnections: 4 * each + 5 } }), /WARNING: that is 1 too many/)
  const scaled = { autoscaling: { enabled: true, maxReplicas: 8 }, strategy: { maxSurge: '30%' } }
  assert.match(notes({ ...scaled, settings: { SERVICE_DATABASE_POOL: 40 } }), /to 54 conn.* With 11 pods/)
})

test('variables, volumes and an authority of the operator reach every pod of Keyrail', () => {
  const extra = {
    extraEnv: [
      { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/authority/ca.crt' },
      { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' },
    ],
    extraEnvFrom: [{ configMapRef: { name: 'otel' } }],
    extraVolumes: [{ name: 'authority', configMap: { name: 'authority' } }],
    extraVolumeMounts: [{ name: 'authority', mountPath: '/etc/authority', readOnly: true }],
  }
  for (const [name, pod] of Object.entries(podsOf(extra))) {
    assert.equal(pod.env.NODE_EXTRA_CA_CERTS, '/etc/authority/ca.crt', name)
    assert.equal(pod.env.OTEL_EXPORTER_OTLP_ENDPOINT, 'http://collector:4318', name)
    assert.deepEqual(pod.container.envFrom, extra.extraEnvFrom, name)
    assert.ok(
      mountsOf(pod).some(([volume]) => volume === 'authority'),
      name,
    )
  }
})

test('a pod has the account that is named, and a new one only after it is there', () => {
  const accounts = (serviceAccount: object) =>
    Object.entries(podsOf({ serviceAccount })).map(([name, { pod }]) => {
      assert.equal(pod.automountServiceAccountToken, false, name)
      return pod.serviceAccountName
    })
  assert.deepEqual(accounts({}), [undefined, undefined, undefined, undefined])
  assert.deepEqual(accounts({ name: 'mine' }), ['mine', 'mine', 'mine', 'mine'])
  assert.deepEqual(accounts({ create: true }), ['keyrail', undefined, undefined, 'keyrail'])
  const serviceAccount = { create: true, name: 'keys', annotations: { role: 'arn' } }
  const account = one(renderer.render({ ...plain, serviceAccount }), 'ServiceAccount', 'keys')
  assert.deepEqual(
    [account.automountServiceAccountToken, account.metadata],
    [false, { ...account.metadata, annotations: { role: 'arn' } }],
  )
})

test('an ingress leads the host of the public URL to the service', () => {
  const ingress = { enabled: true, className: 'nginx', annotations: { a: 'b' }, tlsSecret: 'tls' }
  const values = { ...plain, ingress, settings: { SERVICE_PUBLIC_URL: 'https://keys.example.com:8443/' } }
  const manifests = renderer.render(values)
  const { metadata, spec } = one(manifests, 'Ingress')
  assert.deepEqual((metadata as unknown as { annotations: object }).annotations, { a: 'b' })
  assert.equal(spec.ingressClassName, 'nginx')
  assert.deepEqual(spec.tls, [{ secretName: 'tls', hosts: ['keys.example.com'] }])
  const [{ host, http }] = spec.rules
  assert.equal(host, 'keys.example.com')
  const { service } = http.paths[0].backend
  assert.ok(
    specOf(manifests, 'Service', service.name).ports.some(
      (port: Manifest) => port.name === service.port.name,
    ),
  )
})

test('labels and annotations have their places, and pods spread over zones and nodes', () => {
  const [labels, annotations] = [{ team: 'keys' }, { note: 'x' }]
  const manifests = renderer.render({
    ...plain,
    ...{
      podLabels: labels,
      service: { labels, annotations },
      jobs: { podLabels: labels, podAnnotations: annotations },
    },
  })
  const { template } = specOf(manifests, 'Deployment')
  const service = one(manifests, 'Service').metadata as unknown as Record<string, Record<string, string>>
  assert.deepEqual([template.metadata.labels.team, service.labels?.team], ['keys', 'keys'])
  assert.equal(service.annotations?.note, 'x')
  const job = specOf(manifests, 'Job', 'keyrail-migrate').template.metadata
  assert.deepEqual([job.labels.team, job.annotations.note], ['keys', 'x'])
  const spread = template.spec.topologySpreadConstraints.map(({ topologyKey }: Manifest) => topologyKey)
  assert.deepEqual(spread, ['topology.kubernetes.io/zone', 'kubernetes.io/hostname'])
})

test('rules and board are those of deploy/watch, which the chart has by links', () => {
  const on = { enabled: true, labels: { release: 'prometheus' } }
  const manifests = renderer.render({
    ...plain,
    metrics: { prometheusRule: on, grafanaDashboard: { enabled: true } },
  })
  assert.deepEqual(specOf(manifests, 'PrometheusRule'), parse(read('watch/alerts.yaml')))
  const board = one(manifests, 'ConfigMap', 'keyrail-board')
  assert.deepEqual(JSON.parse(board.data['keyrail.json']), JSON.parse(read('watch/grafana/keyrail.json')))
  assert.equal((board.metadata as unknown as { labels: object }).labels['grafana_dashboard' as never], '1')
})

test('a backup is whole before the tool of the operator gets it, and that tool gets no secret', () => {
  const { pod, env, container } =
    podsOf({ backup: { ...backup, checkDatabase: 'check' } }).backup ?? assert.fail()
  assert.deepEqual(container.args, [
    ...[
      'backup',
      '/backups/keyrail.backup',
      '--recipient=age1recipient',
      '--check',
      '--check-database=check',
    ],
  ])
  assert.equal(env.DATABASE_URL_FILE, '/run/secrets/keyrail/owner-url')
  assert.equal(env.SERVICE_ENCRYPTION_KEY_FILE, '/run/secrets/keyrail/encryption-key')
  const cron = one(renderer.render({ ...plain, backup }), 'CronJob', 'keyrail-backup').spec.jobTemplate.spec
  const [upload] = cron.template.spec.containers
  assert.deepEqual([upload.image, upload.command, upload.envFrom], Object.values(backup.upload))
  const mounts = upload.volumeMounts.map(({ name }: { name: string }) => name)
  assert.deepEqual(mounts, ['tmp', 'backups'])
  assert.ok(
    pod.volumes.some((volume: Manifest) => volume.name === 'backups' && volume.emptyDir.sizeLimit === '10Gi'),
  )
  assert.throws(
    () => renderer.render({ ...plain, backup: { ...backup, recipient: '' } }),
    /backup\.recipient/,
  )
})

test('helm test runs the doctor with the settings and secrets of the service', () => {
  const { service, test: tester } = podsOf({})
  assert.deepEqual([tester?.container.args, tester?.env], [['doctor'], service?.env])
})

test('on OpenShift no pod names a user or a group, and routes reach the pods', () => {
  const values = valuesOf('openshift')
  for (const [name, { pod }] of Object.entries(podsOf(values)))
    assert.deepEqual(Object.keys(pod.securityContext), ['runAsNonRoot', 'seccompProfile'], name)
  const kinds = kindsOf(renderer.render(values))
  for (const kind of ['Ingress', 'ServiceMonitor', 'PrometheusRule'])
    assert.ok(
      kinds.some(each => each.endsWith(` ${kind}`)),
      kind,
    )
})

test('in a mesh the service has a sidecar and no Job waits for one', () => {
  const manifests = renderer.render({ ...valuesOf('mesh'), backup })
  const label = 'sidecar.istio.io/inject'
  assert.equal(specOf(manifests, 'Deployment').template.metadata.labels[label], 'true')
  for (const spec of [
    specOf(manifests, 'Job', 'keyrail-migrate'),
    specOf(manifests, 'CronJob', 'keyrail-backup').jobTemplate.spec,
  ])
    assert.equal(spec.template.metadata.labels[label], 'false')
  assert.equal(podOf(one(manifests, 'Deployment')).env.SERVICE_TRUST_PROXY, '1')
})

test('two pods have enough of 100 connections, while they are replaced too', () => {
  const values = valuesOf('two-pods')
  assert.match(renderer.notes(values), /With 3 pods/)
  assert.doesNotMatch(renderer.notes(values), /WARNING/)
  assert.equal(specOf(renderer.render(values), 'Deployment').replicas, 2)
})
