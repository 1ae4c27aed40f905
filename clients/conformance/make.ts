import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Case, Step } from './case.ts'
import { SHARED } from './case.ts'
import { bodies } from './make/bodies.ts'
import { bounds } from './make/bounds.ts'
import { cidr, cidrShared } from './make/cidr.ts'
import { cidrAddresses } from './make/cidr-addresses.ts'
import { cidrChanges } from './make/cidr-changes.ts'
import { cidrOdd } from './make/cidr-odd.ts'
import { cidrSaved } from './make/cidr-saved.ts'
import { delays } from './make/delays.ts'
import { disks } from './make/disks.ts'
import { feeds } from './make/feeds.ts'
import { shared } from './make/fixtures.ts'
import { foreign } from './make/foreign.ts'
import { forms } from './make/forms.ts'
import { gates } from './make/gates.ts'
import { holds } from './make/holds.ts'
import { importedKeys } from './make/imported.ts'
import { lifetimes } from './make/lifetimes.ts'
import { limits } from './make/limits.ts'
import { newer } from './make/newer.ts'
import { records } from './make/records.ts'
import { statuses } from './make/statuses.ts'
import { suspended, suspendedShared } from './make/suspended.ts'
import { suspendedOdd } from './make/suspended-odd.ts'
import { usages } from './make/usages.ts'
import { verdicts } from './make/verdicts.ts'
import { walks } from './make/walks.ts'
import { wires } from './make/wires.ts'

/** Writes `cases/`, from what the tests of the SDK have. Run by hand: `node clients/conformance/make.ts`. */

const groups: Readonly<Record<string, readonly Case[]>> = {
  bodies,
  bounds,
  cidr: [...cidr, ...cidrChanges, ...cidrAddresses, ...cidrOdd, ...cidrSaved],
  delays,
  disks,
  feeds,
  foreign,
  forms,
  gates,
  holds,
  imported: importedKeys,
  lifetimes,
  limits,
  newer,
  records,
  statuses,
  suspended: [...suspended, ...suspendedOdd],
  usages,
  verdicts,
  walks,
  wires,
}

/** The text of each file of `cases/`, by its name. */
export function makeCases(): ReadonlyMap<string, string> {
  const files = new Map([[SHARED, sharedText({ ...shared, ...suspendedShared, ...cidrShared })]])
  for (const [name, cases] of Object.entries(groups)) files.set(`${name}.json`, textOf(cases))
  return files
}

/** A step a line. */
const textOf = (cases: readonly Case[]): string => `[\n${cases.map(caseText).join(',\n')}\n]\n`

function caseText({ steps, ...head }: Case): string {
  const members = Object.entries(head).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  )
  return `  { ${members.join(', ')}, "steps": [\n${stepLines(steps)}\n  ] }`
}

const stepLines = (steps: readonly Step[]): string =>
  steps.map(step => `    ${JSON.stringify(step)}`).join(',\n')

const sharedText = (all: Readonly<Record<string, readonly Step[]>>): string =>
  `{\n${Object.entries(all)
    .map(([name, steps]) => `  ${JSON.stringify(name)}: [\n${stepLines(steps)}\n  ]`)
    .join(',\n')}\n}\n`

if (import.meta.main) {
  const folder = join(import.meta.dirname, 'cases')
  mkdirSync(folder, { recursive: true })
  for (const file of readdirSync(folder)) rmSync(join(folder, file))
  for (const [file, text] of makeCases()) writeFileSync(join(folder, file), text)
}
