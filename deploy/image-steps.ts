import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const checkout = fileURLToPath(new URL('..', import.meta.url))

/** An instruction of a Dockerfile, such as `COPY` with `bin bin`. */
interface Step {
  readonly word: string
  readonly text: string
}

export interface Stage {
  readonly name: string
  /** Another stage, or an image. */
  readonly from: string
  readonly steps: readonly Step[]
}

/** The stages of a Dockerfile, in order. Instructions before the first one are left out. */
function readStages(text: string): Stage[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter(line => line.trim() !== '')
  const stages: (Stage & { steps: Step[] })[] = []
  for (const line of lines) {
    const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
    const [, from = '', name = 'final'] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? []
    if (word === 'FROM') stages.push({ name, from, steps: [] })
    else stages.at(-1)?.steps.push({ word, text: rest })
  }
  return stages
}

export const shippedStages = (): Stage[] =>
  readStages(readFileSync(join(checkout, 'deploy/Dockerfile'), 'utf8'))

/** The texts of an instruction in a stage. */
export const textsOf = (stage: Stage, word: string): string[] =>
  stage.steps.filter(step => step.word === word).map(({ text }) => text)

/** The environment of a stage. Its values have no white space. */
export const environmentOf = (stage: Stage): Record<string, string> =>
  Object.fromEntries(
    textsOf(stage, 'ENV')
      .flatMap(text => text.split(/\s+/))
      .map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )

/** Megabytes (10^6 bytes) that a folder takes on the disk. */
export function megabytesOf(folder: string): number {
  const { stdout } = spawnSync('du', ['-s', '--block-size=1000', folder], { encoding: 'utf8' })
  return Number(stdout.split('\t')[0]) / 1_000
}

/** Names that `Dockerfile.dockerignore` leaves out wherever they are; it has no other patterns. */
function ignoredNames(): string[] {
  const lines = readFileSync(join(checkout, 'deploy/Dockerfile.dockerignore'), 'utf8').split('\n')
  return lines
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      if (!/^\*\*\/[^*/]+$/.test(line)) throw new Error(`a pattern that this tool does not read: ${line}`)
      return line.slice(3)
    })
}

/**
 * Performs the COPY and RUN steps of each stage in a folder below `place`, with the programs of this machine in place of
 * those of the base image. It needs no engine and no rights.
 * @returns the root of the last stage, which holds what the image adds to its base.
 */
export function performSteps(place: string, stages: readonly Stage[]): string {
  const ignored = ignoredNames()
  const roots = new Map<string, { root: string; folder: string }>()
  let last = ''
  for (const { name, from, steps } of stages) {
    const root = join(place, name)
    const base = roots.get(from)
    mkdirSync(root, { recursive: true })
    if (base !== undefined) cpSync(base.root, root, { recursive: true, verbatimSymlinks: true })
    let folder = base?.folder ?? '/'
    for (const { word, text } of steps) {
      if (word === 'WORKDIR') folder = resolve(folder, text)
      const here = join(root, folder)
      mkdirSync(here, { recursive: true })
      if (word === 'RUN') runIn(here, text)
      if (word === 'COPY') copyInto(here, text, ignored, roots)
    }
    roots.set(name, { root, folder })
    last = root
  }
  return last
}

function runIn(folder: string, command: string): void {
  // npm takes what it has downloaded before.
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    npm_config_prefer_offline: 'true',
  }
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', command], { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`RUN ${command} ended with ${status}:\n${stdout}${stderr}`)
}

function copyInto(
  folder: string,
  text: string,
  ignored: readonly string[],
  roots: ReadonlyMap<string, { root: string }>,
): void {
  const words = text.split(/\s+/)
  const [, stage = ''] = /^--from=(.+)$/.exec(words[0] ?? '') ?? []
  const names = stage === '' ? words : words.slice(1)
  const target = names.at(-1) ?? ''
  const source = roots.get(stage)?.root ?? checkout
  for (const name of names.slice(0, -1)) {
    const path = join(source, name)
    const isFolder = statSync(path).isDirectory()
    const to =
      isFolder || !target.endsWith('/') ? resolve(folder, target) : resolve(folder, target, basename(name))
    // Files of another stage are not subject to the list.
    const filter = (file: string) => stage !== '' || file === path || !ignored.includes(basename(file))
    cpSync(path, to, { recursive: true, verbatimSymlinks: true, filter })
    chmodSync(to, isFolder ? 0o755 : 0o644)
  }
}
