import { readFileSync } from 'node:fs'

/** The rights of a process as the kernel reports them; capabilities as the bits of capabilities(7). */
export interface ProcessStatus {
  uid: number
  effective: bigint
  permitted: bigint
  bounding: bigint
  ambient: bigint
  /** Whether it can never gain rights, for example by running a setuid program. */
  noNewPrivileges: boolean
}

/** Undefined without /proc, or if the process does not exist. */
export function readProcessStatus(pid: number): ProcessStatus | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return undefined
  }
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(text)?.[1] ?? '0'
  const bits = (name: string) => BigInt(`0x${field(name)}`)
  return {
    uid: Number(field('Uid')),
    effective: bits('CapEff'),
    permitted: bits('CapPrm'),
    bounding: bits('CapBnd'),
    ambient: bits('CapAmb'),
    noNewPrivileges: field('NoNewPrivs') === '1',
  }
}

/** The capabilities that a service may need, by their bit. */
export const capabilityBits = { dac_override: 1n, dac_read_search: 2n, net_bind_service: 10n } as const
export type Capability = keyof typeof capabilityBits

export const maskOf = (capabilities: readonly Capability[]): bigint =>
  capabilities.reduce((mask, name) => mask | (1n << capabilityBits[name]), 0n)
