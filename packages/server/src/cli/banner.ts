import { version } from '../version.ts'
import type { BootstrapToken } from './bootstrap-token.ts'
import { paint, print, shellWord } from './output.ts'

/** What a person needs to know once the service is up. */
export interface BannerFacts {
  /** Where it listens. */
  url: string
  metricsUrl: string | null
  /** Where the data is, and in what, such as `/srv/keyrail/data (embedded Postgres 18.4)`. */
  data: string
  /** `file`: of an embedded database. `set`: by SERVICE_BOOTSTRAP_TOKEN. `off`: nobody may create workspaces. */
  bootstrap: BootstrapToken | 'set' | 'off'
  /** As what the process that listens runs, where root has started it. */
  runsAs: string | null
}

interface Banner {
  facts: [label: string, value: string][]
  /** What to do next: a sentence, and the command. */
  next: [sentence: string, command: string][]
}

/** A friendly block at a terminal, plain lines elsewhere. The token itself is shown to a terminal alone, once. */
export function printBanner(facts: BannerFacts): void {
  const banner = compose(facts, process.stdout.isTTY === true)
  print(process.stdout.isTTY === true ? block(banner) : lines(banner, facts.url))
}

function compose({ url, metricsUrl, data, bootstrap, runsAs }: BannerFacts, showToken: boolean): Banner {
  const reachable = reachableUrl(url)
  const facts: Banner['facts'] = [
    ['Address', url],
    ['API reference', `${reachable}/docs`],
  ]
  if (metricsUrl !== null) facts.push(['Metrics', metricsUrl])
  facts.push(['Data', data], ...bootstrapFacts(bootstrap, showToken))
  if (runsAs !== null) facts.push(['Runs as', runsAs])
  const next: Banner['next'] =
    bootstrap === 'off'
      ? [
          [
            'Make a secret key for a workspace',
            'keyrail secret-keys create --workspace ID --env live --role owner',
          ],
        ]
      : [['Create a workspace', createWorkspace(reachable, bootstrap)]]
  return { facts, next: [...next, ['Watch the main job done from end to end', 'npm run demo']] }
}

function bootstrapFacts(bootstrap: BannerFacts['bootstrap'], showToken: boolean): Banner['facts'] {
  if (bootstrap === 'set') return [['Bootstrap token', 'as set by SERVICE_BOOTSTRAP_TOKEN']]
  if (bootstrap === 'off')
    return [['Bootstrap token', 'none; SERVICE_BOOTSTRAP_TOKEN allows to create workspaces']]
  const facts: Banner['facts'] = [['Bootstrap token', `in ${bootstrap.path}`]]
  if (bootstrap.isNew && showToken) facts.push(['', `${bootstrap.token} (shown this once)`])
  return facts
}

function createWorkspace(url: string, bootstrap: BootstrapToken | 'set'): string {
  const token = bootstrap === 'set' ? '$SERVICE_BOOTSTRAP_TOKEN' : `$(cat ${shellWord(bootstrap.path)})`
  return [
    `curl -sS ${url}/v1/workspaces`,
    `-H "Authorization: Bearer ${token}"`,
    `-H 'Content-Type: application/json'`,
    `-d '{"name":"Acme","slug":"acme"}'`,
  ].join(' ')
}

/** A service that listens on every address is reached from here under this one. */
const reachableUrl = (url: string) => url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//localhost:')

function block({ facts, next }: Banner): string {
  const width = Math.max(...facts.map(([label]) => label.length)) + 3
  return [
    '',
    `  ${paint('bold', `Keyrail ${version}`)} ${paint('green', 'is ready')}`,
    '',
    ...facts.map(([label, value]) => `  ${paint('dim', label.padEnd(width))}${value}`),
    ...next.flatMap(([sentence, command]) => ['', `  ${sentence}:`, '', `    ${paint('cyan', command)}`]),
    '',
    `  ${paint('dim', 'Ctrl-C stops it.')}`,
    '',
  ].join('\n')
}

const lines = ({ facts, next }: Banner, url: string) =>
  [
    `Keyrail ${version} listens on ${url}`,
    ...[...facts.slice(1), ...next].map(([label, value]) => `${label}: ${value}`),
  ].join('\n')
