import { version } from '../../version.ts'
import { paint, print, shellWord } from '../output.ts'
import type { BootstrapToken } from './bootstrap-token.ts'

/** What a person needs to know once the service is up. */
export interface BannerFacts {
  /** The URL that it listens on. */
  url: string
  /** SERVICE_PUBLIC_URL: with TLS, the address for which the certificate is made. */
  publicUrl: string
  metricsUrl: string | null
  hasDashboard: boolean
  /** Where the data is and in which database, such as `/srv/keyrail/data (embedded Postgres 18.4)`. */
  data: string
  /**
   * A token: the file of an embedded database. `set`: by SERVICE_BOOTSTRAP_TOKEN. `off`: no token can create
   * workspaces.
   */
  bootstrap: BootstrapToken | 'set' | 'off'
  /** The account of the listening process, if root has started it. */
  runsAs: string | null
}

interface Banner {
  facts: [label: string, value: string][]
  /** What to do next: a sentence, and the command. */
  next: [sentence: string, command: string][]
}

/** Prints a friendly block at a terminal, plain lines elsewhere. Only a terminal shows the token itself, once. */
export function printBanner(facts: BannerFacts): void {
  const banner = compose(facts, process.stdout.isTTY === true)
  print(process.stdout.isTTY === true ? block(banner) : lines(banner, facts.url))
}

function compose(of: BannerFacts, showToken: boolean): Banner {
  const { url, publicUrl, metricsUrl, hasDashboard, data, bootstrap, runsAs } = of
  const reachable = reachableUrl(url, publicUrl)
  const facts: Banner['facts'] = hasDashboard ? [['Dashboard', dashboardUrl(url, publicUrl)]] : []
  facts.push(['Address', url], ['API reference', `${reachable}/docs`])
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
  return { facts, next: [...next, ['Watch a request from end to end', 'npm run demo']] }
}

function bootstrapFacts(bootstrap: BannerFacts['bootstrap'], showToken: boolean): Banner['facts'] {
  if (bootstrap === 'set') return [['Bootstrap token', 'set by SERVICE_BOOTSTRAP_TOKEN']]
  if (bootstrap === 'off')
    return [['Bootstrap token', 'none; set SERVICE_BOOTSTRAP_TOKEN to create workspaces']]
  const facts: Banner['facts'] = [['Bootstrap token', `in ${bootstrap.path}`]]
  if (bootstrap.isNew && showToken) facts.push(['', `${bootstrap.token} (shown only once)`])
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

/** Where the dashboard opens on this machine. */
export const dashboardUrl = (url: string, publicUrl: string) => `${reachableUrl(url, publicUrl)}/app`

/** The URL on this machine of a service that listens on every address. A certificate is for the public name alone. */
const reachableUrl = (url: string, publicUrl: string) =>
  url.startsWith('https:') ? publicUrl : url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, '//localhost:')

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
    ...[...facts.filter(([, value]) => value !== url), ...next].map(([label, value]) => `${label}: ${value}`),
  ].join('\n')
