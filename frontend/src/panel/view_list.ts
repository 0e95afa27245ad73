// The views, in the order of their buttons; the first one is shown unless a link says otherwise.

import { chartsView } from "./charts/charts_view";
import { flowView } from "./flow/flow_view";
import { graphView } from "./graph/graph_view";
import type { View } from "./view/view";

export const VIEWS: readonly View[] = [graphView, flowView, chartsView];
