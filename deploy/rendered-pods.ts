import assert from 'node:assert/strict'
import type { Manifest } from './rendered-chart.ts'

export const one = (manifests: readonly Manifest[], kind: string, name = 'keyrail'): Manifest => {
  const found = manifests.filter(each => each.kind === kind && each.metadata.name === name)
  assert.equal(found.length, 1, `${kind} ${name}`)
  return found[0] as Manifest
}
export const kindsOf = (manifests: readonly Manifest[]) =>
  manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).sort()
/** The pod of a Deployment or a Job, and its container. */
export function podOf({ spec }: Manifest) {
  const pod = spec.template.spec
  assert.equal(pod.containers.length, 1)
  const [container] = pod.containers
  const env: Record<string, string> = Object.fromEntries(
    container.env.map(({ name, value }: Record<string, string>) => [name, value]),
  )
  assert.equal(Object.keys(env).length, container.env.length, 'no variable is set twice')
  return { pod, container, env }
}
export const mountsOf = ({ pod, container }: ReturnType<typeof podOf>): [volume: string, path: string][] => {
  const volumes = pod.volumes.map(({ name }: { name: string }) => name)
  return container.volumeMounts.map(({ name, mountPath }: Record<string, string>) => {
    assert.ok(volumes.includes(name), `the volume ${name} exists`)
    return [name, mountPath]
  })
}
