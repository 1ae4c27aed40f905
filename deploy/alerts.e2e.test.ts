import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { renderFigures } from '../packages/server/src/cli/backup/figures.ts'
import { freePort } from '../packages/server/test/free-port.ts'
import { startHarness } from '../packages/server/test/harness.ts'
import { Installation, root } from '../packages/server/test/installation.ts'
import { makeVendor } from '../packages/server/test/vendor.ts'
import { type AlertCase, alertCases } from './alert-cases.ts'

interface Rule {
  alert: string
  expr: string
  labels: Record<string, string>
  annotations: { summary: string; runbook_url: string }
}

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const rules: Rule[] = parse(read('deploy/watch/alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)
const board: {
  panels: { type: string; datasource: object; title: string; targets?: { expr: string }[] }[]
  templating: { list: { name: string; type: string; query: { query: string } | string }[] }
} = JSON.parse(read('deploy/watch/grafana/keyrail.json'))
const panels = board.panels.filter(({ type }) => type !== 'row')

/** Where the pages of the project are. */
const pages = 'https://github.com/keyrail/keyrail/blob/main/'
const runbookOf = ({ runbook_url: url }: Rule['annotations']) => url.replace(pages, '')

/** Runs promtool of Debian's package prometheus. */
function promtool(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { encoding: 'utf8' })
  assert.equal(error, undefined, 'promtool is missing; install the package prometheus')
  assert.equal(status, 0, `${stdout}${stderr}`)
  return stdout
}

/** The tests of a rule for promtool: a series of which it fires, and one of which it does not. */
function promtoolTests({ alert, labels, annotations }: Rule, { fires, quiet, at, more = {} }: AlertCase) {
  const one = (series: Record<string, string>, expected: object[]) => ({
    interval: '1m',
    input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: expected }],
  })
  return [one(fires, [{ exp_labels: { ...labels, ...more }, exp_annotations: annotations }]), one(quiet, [])]
}

test('every alert fires on its series, and not on a healthy one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-alerts-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  assert.deepEqual(
    rules.map(({ alert }) => alert),
    Object.keys(alertCases),
  )
  assert.ok(rules.length >= 15)
  const tests = rules.flatMap(rule => promtoolTests(rule, alertCases[rule.alert] as AlertCase))
  const file = join(folder, 'tests.yaml')
  writeFileSync(
    file,
    stringify({ rule_files: [join(root, 'deploy/watch/alerts.yaml')], evaluation_interval: '1m', tests }),
  )
  assert.match(promtool('test', 'rules', file), /SUCCESS/)
  // A wrong expectation is found.
  const [wrong] = tests
  writeFileSync(
    file,
    stringify({
      rule_files: [join(root, 'deploy/watch/alerts.yaml')],
      tests: [{ ...wrong, alert_rule_test: [{ ...wrong?.alert_rule_test[0], exp_alerts: [] }] }],
    }),
  )
  assert.notEqual(spawnSync('promtool', ['test', 'rules', file]).status, 0)
})

test('Prometheus takes the rules and its configuration', () => {
  promtool('check', 'rules', join(root, 'deploy/watch/alerts.yaml'))
  promtool('check', 'config', '--syntax-only', join(root, 'deploy/watch/prometheus.yaml'))
})

test('every alert has a severity and a runbook, and an alert leads to every runbook', () => {
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity ?? '', /^(page|ticket)$/, alert)
    assert.ok(annotations.runbook_url.startsWith(pages), alert)
    assert.match(runbookOf(annotations), /^docs\/runbooks\/[a-z-]+\.md$/, alert)
    assert.ok(existsSync(join(root, runbookOf(annotations))), alert)
    assert.match(annotations.summary, /\.$/, alert)
  }
  const named = new Set(rules.map(({ annotations }) => runbookOf(annotations)))
  for (const file of readdirSync(join(root, 'docs/runbooks')).filter(name => name.endsWith('.md'))) {
    const page = read(`docs/runbooks/${file}`)
    for (const { alert } of rules.filter(
      ({ annotations }) => runbookOf(annotations) === `docs/runbooks/${file}`,
    ))
      assert.ok(page.includes(`\`${alert}\``), `${file} names ${alert}`)
    if (named.has(`docs/runbooks/${file}`)) continue
    const isLinked = [...named].some(other => read(other).includes(`](${file}`))
    assert.ok(isLinked, `${file} is reached from no alert`)
  }
})

type Selected = [label: string, value: string]

/** The metrics of an expression, with the labels that it selects by. */
function metricsOf(expr: string): { name: string; selects: Selected[]; matches: Selected[] }[] {
  return [...expr.matchAll(/\b((?:keyrail|http_server|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => ({
      name,
      selects: [...selector.matchAll(/(\w+)="([^"]*)"/g)].map(([, label = '', value = '']) => [label, value]),
      matches: [...selector.matchAll(/(\w+)=~"([^"]*)"/g)].map(([, label = '', value = '']) => [
        label,
        value,
      ]),
    }),
  )
}
/** Labels that Prometheus adds to what it scrapes. */
const added = ['job', 'instance', 'le']
/** Everything in an expression that is neither a metric nor one of its labels. */
const words =
  /\b(?:sum|count|max|min|by|rate|changes|increase|histogram_quantile|max_over_time|absent|time|and|up|job|__rate_interval)\b/g

test('alerts and panels use only metrics of the service, with the labels that these have', async () => {
  const harness = await startHarness()
  const vendor = await makeVendor(harness)
  await harness.ask('POST', '/v1/workspaces', { token: vendor.live, body: {} })
  // The second are those of keyrail backup, which its metrics file has.
  const backups = renderFigures({ lastSuccessAt: null, lastCheckedAt: null, failures: 0, everyMs: 1 })
  const text = (await harness.deps.metrics.text()) + backups
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  const expressions = [
    ...rules.map(({ expr }) => expr),
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ]
  assert.ok(panels.length >= 20)
  for (const expr of expressions) {
    const used = metricsOf(expr)
    assert.ok(used.length > 0 || /\bup\{/.test(expr), expr)
    for (const { name, selects } of used) {
      const series = lines.filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      assert.ok(series.length > 0, `${name} in ${expr}`)
      for (const [label, value] of selects.filter(([label]) => !added.includes(label))) {
        assert.ok(
          series.some(line => line.includes(`${label}="`)),
          `${label} of ${name}`,
        )
        // Which statuses and routes there are depends on the requests so far.
        if (name.startsWith('keyrail_'))
          assert.ok(
            series.some(line => line.includes(`${label}="${value}"`)),
            `${label}="${value}" of ${name}`,
          )
      }
      // What an expression groups by are labels of its metric.
      for (const [, labels = ''] of expr.matchAll(/\bby \(([^)]+)\)/g))
        for (const label of labels.split(', ').filter(label => !added.includes(label)))
          assert.ok(
            series.some(line => line.includes(`${label}="`)),
            `by ${label} in ${expr}`,
          )
    }
    const rest = expr
      .replace(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]+\)/g, '')
      .replace(/\b(?:keyrail|http_server|nodejs|process)_\w+/g, '')
      .replace(words, '')
    assert.doesNotMatch(rest, /[a-z]/i, `an unknown word in ${expr}`)
  }
  const routes = new Set(harness.app.routesServed.map(({ url }) => url))
  for (const [, route = ''] of expressions.join('\n').matchAll(/route="([^"]+)"/g))
    assert.ok(routes.has(route), route)
})

test('every series that an alert reads is in the first scrape of a process', async () => {
  const installation = new Installation({ SERVICE_METRICS_PORT: String(await freePort()) })
  after(() => installation.remove())
  await installation.serve()
  const answer = await fetch(`http://127.0.0.1:${installation.env.SERVICE_METRICS_PORT}/metrics`)
  const text = await answer.text()
  const lines = text.split('\n')
  for (const { alert, expr } of rules)
    for (const { name, selects, matches } of metricsOf(expr)) {
      if (name.startsWith('keyrail_backup_')) continue
      const series = lines.filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      assert.ok(series.length > 0, `${alert}: ${name}`)
      const wanted = [
        ...selects.map(([label, value]) => [label, value] as const),
        ...matches.flatMap(([label, values]) => values.split('|').map(value => [label, value] as const)),
      ]
      for (const [label, value] of wanted.filter(([label]) => !added.includes(label)))
        assert.ok(
          series.some(line => line.includes(`${label}="${value}"`)),
          `${alert}: ${name} with ${label}="${value}"`,
        )
      // A counter that no request has raised begins at 0, or its first rise is none.
      if (name.endsWith('_total') && name !== 'keyrail_requests_total')
        for (const line of series) assert.match(line, / 0$/, `${alert}: ${line}`)
    }
})

test('every panel has the data source and the jobs that are chosen above it', () => {
  const variables = new Map(board.templating.list.map(one => [one.name, one]))
  assert.deepEqual([...variables.keys()], ['datasource', 'job'])
  assert.equal(variables.get('datasource')?.query, 'prometheus')
  assert.match(JSON.stringify(variables.get('job')?.query), /label_values\(keyrail_build_info, job\)/)
  for (const { title, datasource, targets = [] } of panels) {
    assert.deepEqual(datasource, { type: 'prometheus', uid: `\${datasource}` }, title)
    for (const { expr } of targets)
      for (const { name, matches } of metricsOf(expr)) {
        // The process that makes backups has another job.
        const isBackup = name.startsWith('keyrail_backup_')
        const chosen = matches.filter(([label, value]) => label === 'job' && value === '$job')
        assert.equal(chosen.length, isBackup ? 0 : 1, `${title}: ${name}`)
      }
  }
})

test('the board shows what is degraded, refused, unheard, waiting, backed up and built', () => {
  const shown = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsOf(expr)))
  for (const metric of [
    ...[
      'keyrail_degraded',
      'keyrail_requests_total',
      'keyrail_database_refusals_total',
      'keyrail_lane_waiting',
    ],
    ...[
      'keyrail_hints_heard_timestamp_seconds',
      'keyrail_backup_last_checked_timestamp_seconds',
      'keyrail_build_info',
    ],
  ])
    assert.ok(
      shown.some(({ name }) => name === metric),
      metric,
    )
})

test('no two panels overlap, and every panel has a title', () => {
  const taken = new Set<string>()
  for (const { gridPos, title } of board.panels as unknown as {
    gridPos: Record<string, number>
    title: string
  }[]) {
    assert.ok(title.length > 0)
    const { x = 0, y = 0, w = 0, h = 0 } = gridPos
    for (let column = x; column < x + w; column++)
      for (let row = y; row < y + h; row++) {
        assert.ok(!taken.has(`${column} ${row}`), title)
        taken.add(`${column} ${row}`)
      }
  }
})
