import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** What prevents a release, each as a sentence. */
export function faultsOfRelease(root: string, status: string): string[] {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const { version, workspaces }: { version: string; workspaces: string[] } = JSON.parse(read('package.json'))
  const chart: { version: string; appVersion: string } = parse(read(chartFile))
  const named: [file: string, version: string][] = [
    ...workspaces
      .map(folder => `${folder}/package.json`)
      .map((file): [string, string] => [file, JSON.parse(read(file)).version]),
    [`${chartFile} (version)`, chart.version],
    [`${chartFile} (appVersion)`, chart.appVersion],
    ['package-lock.json', JSON.parse(read('package-lock.json')).version],
  ]
  const faults = named
    .filter(([, own]) => own !== version)
    .map(([file, own]) => `${file} has the version ${own}, and package.json ${version}.`)
  const changed = status.split('\n').filter(line => line !== '')
  if (changed.length > 0)
    faults.push(`Commit or remove what no commit has: ${changed.map(line => line.slice(3)).join(', ')}.`)
  if (!sectionOf(read('CHANGELOG.md'), version))
    faults.push(`CHANGELOG.md has no section "## ${version}" with text.`)
  return faults
}

const chartFile = 'deploy/helm/keyrail/Chart.yaml'

/** The text below the heading of a version; undefined without such a heading. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const section = changelog.split(/^## /m).find(text => /^\S+/.exec(text)?.[0] === version)
  return section?.slice(section.indexOf('\n') + 1).trim()
}
