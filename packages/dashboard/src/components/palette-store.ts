import { createSpotlight } from '@mantine/spotlight'

/** Opens and closes the palette. */
export const [paletteStore, palette] = createSpotlight()
