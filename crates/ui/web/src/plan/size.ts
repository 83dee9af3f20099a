// Sizes of a node in the plan's graph.
export const NODE_WIDTH = 172;
export const NODE_HEIGHT = 42;
