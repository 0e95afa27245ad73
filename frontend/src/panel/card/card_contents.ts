// What cards hold. It is loaded when something is first selected.

export { EdgeCard } from "./edge_card";
export { GhostCard } from "./ghost_card";
export { GroupCard } from "./group_card";
export { NodeCard } from "./node_card";
