import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { root } from '../packages/server/test/installation.ts'

const folder = join(root, 'deploy/helm/keyrail')
const read = (path: string) => readFileSync(join(folder, path), 'utf8')

type Values = Record<string, unknown>

/** An object that Kubernetes would get. */
// biome-ignore lint/suspicious/noExplicitAny: of any kind, read by the test that asked for it.
export type Manifest = { apiVersion: string; kind: string; metadata: { name: string } } & Record<string, any>

export interface Renderer {
  /**
   * The manifests that a release gets with these values over those of the chart.
   * @throws what Helm would end with.
   */
  render(values: Values, release?: string): Manifest[]
  /** What Helm says after an installation. */
  notes(values: Values): string
  remove(): void
}

/** Builds `render-chart.go`, for which Debian's Go and two of its libraries are needed. */
export function buildRenderer(): Renderer {
  const place = mkdtempSync(join(tmpdir(), 'keyrail-chart-'))
  const program = join(place, 'render-chart')
  const { status, stderr, error } = spawnSync('go', ['build', '-o', program, 'render-chart.go'], {
    cwd: join(root, 'deploy'),
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: place,
      GOCACHE: join(place, 'cache'),
      CGO_ENABLED: '0',
      // Where Debian's packages put libraries.
      GO111MODULE: 'off',
      GOPATH: '/usr/share/gocode',
    },
  })
  if (error !== undefined || status !== 0)
    throw new Error(
      `install golang-go, golang-github-masterminds-sprig-dev and golang-k8s-sigs-yaml-dev: ${error ?? stderr}`,
    )
  const textsIn = (below: string, prefix: string) =>
    Object.fromEntries(
      readdirSync(join(folder, below)).map(name => [prefix + name, read(`${below}/${name}`)]),
    )
  const [templates, files] = [textsIn('templates', ''), textsIn('files', 'files/')]
  const { name, version, appVersion } = parse(read('Chart.yaml'))
  const textsOf = (values: Values, release: string): Record<string, string> => {
    const input = JSON.stringify({
      templates,
      files,
      values: merge(parse(read('values.yaml')), values),
      chart: { name, version, appVersion },
      release: { Name: release, Namespace: 'default', Service: 'Helm' },
    })
    const { status, stdout, stderr } = spawnSync(program, { input, encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    return JSON.parse(stdout)
  }
  return {
    render: (values, release = 'keyrail') =>
      Object.entries(textsOf(values, release)).flatMap(([file, text]) =>
        file.endsWith('.yaml') ? manifestsIn(file, text) : [],
      ),
    notes: values => textsOf(values, 'keyrail')['NOTES.txt'] ?? '',
    remove: () => rmSync(place, { recursive: true, force: true }),
  }
}

/** Maps are merged, everything else is replaced, as Helm does. */
function merge(below: unknown, above: unknown): unknown {
  if (!isMap(below) || !isMap(above)) return above
  return { ...below, ...Object.fromEntries(Object.keys(above).map(key => [key, pair(below, above, key)])) }
}
const pair = (below: Values, above: Values, key: string) =>
  key in below ? merge(below[key], above[key]) : above[key]

const isMap = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** As Kubernetes reads them, where a number that begins with 0 is octal. */
function manifestsIn(file: string, text: string): Manifest[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap(document => {
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]?.message}\n${text}`)
    const manifest = document.toJS()
    return manifest === null ? [] : [manifest as Manifest]
  })
}
