import { isColour } from './colour-input.tsx'
import type { Rights } from './played-client.ts'

/** What a person has chosen in the playground, as its fields have it. */
export interface Scene {
  readonly state: string
  readonly may: string
  readonly language: string
  readonly scheme: string
  readonly direction: string
  readonly width: string
  readonly density: string
  /** The page sets these; an empty one is not set. */
  readonly accent: string
  readonly danger: string
  readonly ground: string
  readonly text: string
  readonly radius: string
  readonly font: string
}

export const firstScene: Scene = {
  state: 'keys',
  may: 'manage',
  language: 'en',
  scheme: 'light',
  direction: 'ltr',
  width: 'wide',
  density: 'comfortable',
  accent: '',
  danger: '',
  ground: '',
  text: '',
  radius: '',
  font: '',
}

export type SetScene = (change: Partial<Scene>) => void

export const rightsOf = ({ may }: Scene): Rights => ({ read: may !== 'create', write: may !== 'read' })

const colours = ['accent', 'danger', 'ground', 'text'] as const

/** The custom properties that the page sets. */
export function propertiesOf(scene: Scene): readonly (readonly [name: string, value: string])[] {
  const chosen = colours.filter(name => isColour(scene[name])).map(name => [name, scene[name]] as const)
  const radius = /^\d{1,2}$/.test(scene.radius) ? [['radius', `${scene.radius}px`] as const] : []
  // What ends a declaration is no part of a font's name.
  const font = /^[^;{}]*\S[^;{}]*$/.test(scene.font) ? [['font', scene.font.trim()] as const] : []
  return [...chosen, ...radius, ...font].map(([name, value]) => [`--keyrail-${name}`, value])
}

/** The style sheet to copy. */
export function styleOf(scene: Scene): string {
  const lines = propertiesOf(scene).map(([name, value]) => `  ${name}: ${value};`)
  return lines.length === 0
    ? '/* The theme of the workspace counts, until your page sets a property. */'
    : ['keyrail-keys {', ...lines, '}'].join('\n')
}
