import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Bench } from './bench.ts'

/** The bench files of a folder, `g2-….ts` before `g10-….ts`. */
export function listBenchFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter(file => /^g\d+.*\.ts$/.test(file) && !file.endsWith('.test.ts'))
    .sort((one, other) => one.localeCompare(other, 'en', { numeric: true }))
}

/**
 * The file that a name stands for: `g10` or `G10` for `g10-….ts`, the file's name, or any path.
 *
 * @throws Error with one line to print, when it does not exist
 */
export function findBenchFile(name: string, folder: string): string {
  const wanted = name.toLowerCase()
  const file = listBenchFiles(folder).find(
    candidate => candidate === wanted || candidate === `${wanted}.ts` || candidate.startsWith(`${wanted}-`),
  )
  if (file) return join(folder, file)
  if (name.endsWith('.ts') && existsSync(name)) return resolve(name)
  throw new Error(`no bench is called ${name}`)
}

/** @throws Error when the file exports no bench */
export async function loadBench(path: string): Promise<Bench> {
  const { bench } = await import(pathToFileURL(path).href)
  if (typeof bench?.name !== 'string' || typeof bench?.arms !== 'function' || !bench?.goal) {
    throw new Error(`${path} exports no bench with name, goal and arms`)
  }
  return bench
}
