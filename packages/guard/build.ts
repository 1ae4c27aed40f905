import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readCommandLine } from '../../tools/command-line.ts'
import { fileName, writePackage } from './write-package.ts'

/** `npm run build -w packages/guard`: builds the guard as the one file of its package. */
const usage = `\
npm run build -w packages/guard             writes packages/guard/dist
npm run build -w packages/guard -- FOLDER   writes it into another folder`

const [given] = readCommandLine(usage, {}, { most: 1 }).positionals
const into = resolve(process.env.INIT_CWD ?? '', given ?? join(import.meta.dirname, 'dist'))
await writePackage(into)
process.stdout.write(`${statSync(join(into, fileName)).size} bytes in ${join(into, fileName)}\n`)
