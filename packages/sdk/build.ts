import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readCommandLine } from '../../tools/command-line.ts'
import { declareTypes } from './declare.ts'
import { typesFolder, writePackage } from './write-package.ts'

/** `npm run build`: builds the package `@keyrail/sdk`. */
const usage = `\
npm run build             writes the types into packages/sdk/types, and builds the SDK into packages/sdk/dist
npm run build -- FOLDER   builds it into another folder`

/** The files below a folder and their bytes. */
const filesIn = (below: string): { file: string; bytes: number }[] =>
  readdirSync(below, { recursive: true, encoding: 'utf8' })
    .toSorted()
    .map(file => ({ file, stats: statSync(join(below, file)) }))
    .filter(({ stats }) => stats.isFile())
    .map(({ file, stats }) => ({ file, bytes: stats.size }))

/** Prints each file, and the sums with and without source maps. */
function report(into: string): void {
  const files = filesIn(into)
  const sum = (some: typeof files) => some.reduce((total, { bytes }) => total + bytes, 0)
  const line = (bytes: number, text: string) => `${String(bytes).padStart(8)}  ${text}\n`
  const maps = files.filter(({ file }) => file.endsWith('.map'))
  for (const { file, bytes } of files) process.stdout.write(line(bytes, file))
  process.stdout.write(line(sum(files) - sum(maps), `bytes in ${into}, without source maps`))
  process.stdout.write(line(sum(maps), 'bytes of source maps'))
}

const [given] = readCommandLine(usage, {}, { most: 1 }).positionals
const into = resolve(given ?? join(import.meta.dirname, 'dist'))
await declareTypes(typesFolder)
await writePackage(into)
report(into)
