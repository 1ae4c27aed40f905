import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { readConfig } from '../packages/server/src/config.ts'
import { networkText } from '../packages/server/src/platform/network/cidr.ts'
import { buildRenderer, type Manifest } from './rendered-chart.ts'
import { kindsOf, mountsOf, one, podOf } from './rendered-pods.ts'

const renderer = buildRenderer()
after(() => renderer.remove())

/** Only the Secret is named. */
const plain = { existingSecret: 'keyrail-secrets' }
/** Everything that is off by default is on, and every value that is empty has one. */
const full = {
  ...plain,
  image: {
    repository: 'registry.example.com/keyrail',
    tag: `sha256:${'a'.repeat(64)}`,
    pullSecrets: [{ name: 'pull' }],
  },
  secretKeys: {
    databaseDirectUrl: 'direct-url',
    bootstrapToken: 'token',
    mailUrl: 'mail',
    redisUrl: 'redis',
    signingKey: 'key',
  },
  settings: { SERVICE_MAX_STORED_ANSWER_BYTES_PER_WORKSPACE: 10_737_418_240, SERVICE_LOG_LEVEL: 'warn' },
  autoscaling: { enabled: true },
  podDisruptionBudget: { maxUnavailable: '25%' },
  tls: { existingSecret: 'keyrail-tls' },
  metrics: { serviceMonitor: { enabled: true, labels: { release: 'prometheus' } } },
  podAnnotations: { team: 'keys' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'keys', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
}

test('with nothing but a Secret a release gets its objects, and each selects the pods', () => {
  const manifests = renderer.render(plain)
  assert.deepEqual(kindsOf(manifests), [
    'apps/v1 Deployment',
    'batch/v1 Job',
    'networking.k8s.io/v1 NetworkPolicy',
    'policy/v1 PodDisruptionBudget',
    'v1 Pod',
    'v1 Service',
    'v1 Service',
  ])
  const { spec } = one(manifests, 'Deployment')
  assert.equal(spec.replicas, 3)
  const { labels } = spec.template.metadata
  const selects = (selector: Record<string, string>, of = labels) =>
    Object.entries(selector).every(([name, value]) => of[name] === value)
  for (const selector of [
    spec.selector.matchLabels,
    one(manifests, 'PodDisruptionBudget').spec.selector.matchLabels,
    one(manifests, 'NetworkPolicy').spec.podSelector.matchLabels,
    one(manifests, 'Service').spec.selector,
    one(manifests, 'Service', 'keyrail-metrics').spec.selector,
  ]) {
    assert.ok(selects(selector), JSON.stringify(selector))
    // The pod of the migration gets no request.
    assert.ok(!selects(selector, one(manifests, 'Job', 'keyrail-migrate').spec.template.metadata.labels))
  }
  const ports = podOf(one(manifests, 'Deployment')).container.ports
  for (const name of ['keyrail', 'keyrail-metrics'])
    for (const { targetPort } of one(manifests, 'Service', name).spec.ports)
      assert.ok(
        ports.some((port: { name: string }) => port.name === targetPort),
        targetPort,
      )
})

test('the pods read files of their Secret, and only the migration has the URL of the owner', () => {
  const manifests = renderer.render(plain)
  const [service, migration] = [one(manifests, 'Deployment'), one(manifests, 'Job', 'keyrail-migrate')].map(
    podOf,
  )
  assert.ok(service && migration)
  for (const { pod, container, env } of [service, migration]) {
    assert.deepEqual(mountsOf({ pod, container, env }), [
      ['tmp', '/tmp'],
      ['secrets', '/run/secrets/keyrail'],
    ])
    const { secret } = pod.volumes.find(({ name }: { name: string }) => name === 'secrets')
    assert.deepEqual([secret.secretName, secret.defaultMode], ['keyrail-secrets', 0o440])
    assert.equal(pod.securityContext.fsGroup, pod.securityContext.runAsUser)
    assert.equal(container.securityContext.readOnlyRootFilesystem, true)
  }
  assert.equal(service.env.SERVICE_ENCRYPTION_KEY_FILE, '/run/secrets/keyrail/encryption-key')
  assert.deepEqual([service.container.args, migration.container.args], [['serve'], ['migrate']])
  assert.equal(service.env.DATABASE_URL_FILE, '/run/secrets/keyrail/database-url')
  assert.equal(migration.env.DATABASE_URL_FILE, '/run/secrets/keyrail/owner-url')
  const hooks = one(manifests, 'Job', 'keyrail-migrate').metadata as unknown as { annotations: object }
  assert.deepEqual(Object.values(hooks.annotations)[0], 'pre-install,pre-upgrade')
})

test('each pod gets those keys of the Secret that its settings read, and no other', () => {
  const keysOf = (values: Record<string, unknown>, kind: string, name = 'keyrail') => {
    const { pod, env } = podOf(one(renderer.render(values), kind, name))
    const { secret } = pod.volumes.find(({ name }: { name: string }) => name === 'secrets')
    for (const { key, path } of secret.items) assert.equal(path, key)
    const keys: string[] = secret.items.map(({ key }: { key: string }) => key)
    const read = Object.values(env).filter(value => value.startsWith('/run/secrets/keyrail/'))
    assert.deepEqual(
      keys.map(key => `/run/secrets/keyrail/${key}`),
      read,
    )
    return keys.toSorted()
  }
  assert.deepEqual(keysOf(plain, 'Deployment'), ['database-url', 'encryption-key'])
  assert.deepEqual(keysOf(plain, 'Job', 'keyrail-migrate'), ['owner-url'])
  assert.deepEqual(keysOf(full, 'Deployment'), [
    ...['database-url', 'direct-url', 'encryption-key', 'key', 'mail', 'redis', 'token'],
  ])
  assert.deepEqual(keysOf(full, 'Job', 'keyrail-migrate'), ['owner-url'])
  const migration = podOf(one(renderer.render(full), 'Job', 'keyrail-migrate'))
  assert.ok(!mountsOf(migration).some(([name]) => name === 'tls'), 'it serves nothing')
  assert.equal(migration.env.SERVICE_TLS_CERT_FILE, undefined)
})

test('by default a proxy is trusted only where just an ingress reaches plain pods', () => {
  const trusted = (values: object) => {
    const { SERVICE_TRUST_PROXY } = podOf(one(renderer.render({ ...plain, ...values }), 'Deployment')).env
    const { trustProxy } = readConfig({ SERVICE_TRUST_PROXY }).config
    return typeof trustProxy === 'number' ? trustProxy : trustProxy.map(networkText)
  }
  const tls = { existingSecret: 'keyrail-tls' }
  assert.equal(trusted({}), 1)
  assert.equal(trusted({ tls }), 0)
  assert.equal(trusted({ networkPolicy: { enabled: false } }), 0)
  assert.equal(trusted({ networkPolicy: { ingressFrom: 'everywhere' } }), 0)
  assert.equal(trusted({ tls, settings: { SERVICE_TRUST_PROXY: 2 } }), 2)
  assert.equal(trusted({ settings: { SERVICE_TRUST_PROXY: 0 } }), 0)
  assert.equal(trusted({ settings: { SERVICE_TRUST_PROXY: '3' } }), 3)
  const networks = '10.42.7.0/24,2001:db8:7::/64'
  assert.deepEqual(trusted({ tls, settings: { SERVICE_TRUST_PROXY: networks } }), networks.split(','))
})

test('with one login the migration uses its URL, past a pooler where there is one', () => {
  const one_login = { ...plain, secretKeys: { ownerUrl: '', databaseDirectUrl: 'direct-url' } }
  const alone = podOf(one(renderer.render(one_login), 'Job', 'keyrail-migrate')).env
  assert.equal(alone.DATABASE_URL_FILE, '/run/secrets/keyrail/database-url')
  assert.equal(alone.DATABASE_DIRECT_URL_FILE, '/run/secrets/keyrail/direct-url')
  // The direct URL is that of the other login.
  const two = podOf(one(renderer.render(full), 'Job', 'keyrail-migrate')).env
  assert.equal(two.DATABASE_DIRECT_URL_FILE, undefined)
})

test('every value has its place, and large numbers stay whole', () => {
  const manifests = renderer.render(full)
  const deployment = one(manifests, 'Deployment')
  assert.equal(deployment.spec.replicas, undefined, 'the autoscaler decides')
  const { scaleTargetRef, minReplicas, maxReplicas } = one(manifests, 'HorizontalPodAutoscaler').spec
  assert.deepEqual(
    [scaleTargetRef.kind, scaleTargetRef.name, minReplicas, maxReplicas],
    ['Deployment', 'keyrail', 3, 10],
  )
  assert.equal(one(manifests, 'PodDisruptionBudget').spec.maxUnavailable, '25%')
  const monitor = one(manifests, 'ServiceMonitor')
  const metrics = one(manifests, 'Service', 'keyrail-metrics').metadata as unknown as {
    labels: Record<string, string>
  }
  for (const [name, value] of Object.entries(monitor.spec.selector.matchLabels))
    assert.equal(metrics.labels[name], value)

  const all = podOf(deployment)
  const { pod, container, env } = all
  assert.equal(container.image, `registry.example.com/keyrail@sha256:${'a'.repeat(64)}`)
  assert.deepEqual(pod.imagePullSecrets, [{ name: 'pull' }])
  assert.deepEqual(
    [pod.nodeSelector, pod.tolerations, pod.affinity],
    [full.nodeSelector, full.tolerations, full.affinity],
  )
  assert.deepEqual(deployment.spec.template.metadata.annotations, full.podAnnotations)
  assert.ok(mountsOf(all).some(([name]) => name === 'tls'))
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
    assert.equal(container[probe].httpGet.scheme, 'HTTPS', probe)

  // What the pod is given is what the service takes.
  const {
    SERVICE_MAX_STORED_ANSWER_BYTES_PER_WORKSPACE,
    SERVICE_TRUST_PROXY,
    SERVICE_LOG_LEVEL,
    SERVICE_PUBLIC_URL,
  } = env
  const { config, warnings } = readConfig({
    SERVICE_MAX_STORED_ANSWER_BYTES_PER_WORKSPACE,
    SERVICE_TRUST_PROXY,
    SERVICE_LOG_LEVEL,
    SERVICE_PUBLIC_URL,
    SERVICE_DRAIN_DELAY_S: env.SERVICE_DRAIN_DELAY_S,
    SERVICE_METRICS_PORT: env.SERVICE_METRICS_PORT,
  })
  assert.deepEqual(warnings, [])
  assert.deepEqual(
    [config.maxStoredAnswerBytesPerWorkspace, config.trustProxy, config.drainDelayS],
    [10_737_418_240, 0, 10],
  )
})

test('what is switched off is not there, and each port is open to its own callers alone', () => {
  const off = renderer.render({
    ...plain,
    metrics: { enabled: false },
    networkPolicy: { enabled: false },
    podDisruptionBudget: { enabled: false },
  })
  assert.deepEqual(kindsOf(off), ['apps/v1 Deployment', 'batch/v1 Job', 'v1 Pod', 'v1 Service'])
  assert.equal(podOf(one(off, 'Deployment')).env.SERVICE_METRICS_PORT, undefined)
  const ingress = (values: object) =>
    one(renderer.render({ ...plain, ...values }), 'NetworkPolicy').spec.ingress.map(
      ({ ports, from }: { ports: { port: string }[]; from?: unknown[] }) => [ports[0]?.port, from ?? 'all'],
    )
  const inNamespace = (name: string) => [
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
  ]
  assert.deepEqual(ingress({}), [
    ['http', inNamespace('ingress-nginx')],
    ['metrics', inNamespace('monitoring')],
  ])
  assert.deepEqual(ingress({ networkPolicy: { metricsFrom: [] } }), [['http', inNamespace('ingress-nginx')]])
  const ingressFrom = [{ podSelector: { matchLabels: { app: 'traefik' } } }, ...inNamespace('backend')]
  assert.deepEqual(ingress({ networkPolicy: { ingressFrom, metricsFrom: [] } }), [['http', ingressFrom]])
  const open = { ingressFrom: 'everywhere', metricsFrom: [] }
  assert.deepEqual(ingress({ networkPolicy: open }), [['http', 'all']])
})

test('without a Secret nothing is installed, and the reason says what to set', () => {
  assert.throws(() => renderer.render({}), /existingSecret: name the Secret/)
})

test('two releases in one namespace share no name and no pod', () => {
  const [a, b] = ['first', 'second'].map(release => renderer.render(plain, release))
  assert.ok(a && b)
  const names = (manifests: Manifest[]) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
  assert.deepEqual(
    names(a).filter(name => names(b).includes(name)),
    [],
  )
  const labels = one(b, 'Deployment', 'second-keyrail').spec.template.metadata.labels
  const { matchLabels } = one(a, 'Deployment', 'first-keyrail').spec.selector
  assert.ok(Object.entries(matchLabels).some(([name, value]) => labels[name] !== value))
})
