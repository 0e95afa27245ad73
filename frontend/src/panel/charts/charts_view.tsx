// The view of charts: chosen tensors and runs in one chart. Its body is loaded when it is first shown.

import { deferred } from "../controls/deferred";
import { DirectionSwitch } from "../view/halves";
import { STEP_KEYS, type Around, type Shown, type View } from "../view/view";
import { chartedFacts, chartedPins, pin } from "./charts_actions";
import { fetchCharts } from "./charts_data";
import { applyCharted, chartedEntries, chartedOf, createCharts, pinsOf, readCharted } from "./charts_state";
import { PinAllButton, PinButton } from "./pin_button";

const ChartsBody = deferred("The charts", () => import("./charts_body").then((loaded) => loaded.ChartsBody));
const SavedCharts = deferred("The charts", () => import("./charts_body").then((loaded) => loaded.SavedCharts));

export const chartsView: View = {
  id: "charts",
  text: "Charts",
  title: "Chosen tensors and runs in one chart",
  hasCard: false,
  compares: false,
  help: {
    keys: [
      ...STEP_KEYS,
      ["D", "shows values (forward) or gradients (backward)"],
      ["wheel, + −", "zooms the steps; over the numbers, with Shift, or by Page Up and Page Down, the vertical axis"],
      ["drag, arrows", "moves a zoomed chart; with Shift, a drag zooms to a box. Keys need the focus on the chart"],
      ["double click, 0", "shows all again"],
    ],
    meanings: [
      ["charts", "chosen tensors in one chart, over all steps; “Find” adds a node, or all parameters of a module"],
      ["forward, backward", "their values, or their gradients"],
      ["of the step", "numbers of each step as a whole: its loss, the norm of all gradients, learning rates, and what the script noted"],
      ["color, dash", "each tensor has a color and each run a dash; with one tensor or many runs, each run has a color"],
      ["color by", "runs, lines, or a hyperparameter: one that TensorBoard has, or one in the names of runs, as in lr=0.01"],
      ["median and range", "the runs over the shown one as one dashed line and the area between their least and greatest number"],
      ["layers", "a heat map of each run: one row for each layer, steps from left to right, one scale of colors for all of them"],
      ["ignore outliers", "the axis leaves out lines that go far beyond the middle one, and names them"],
      ["numbers", "at the step under the pointer, else at the chosen step; a click goes to a step"],
      ["orange", "the chosen step"],
      [
        "marks",
        "a mark on the lower line of a log scale is exactly zero; a magenta mark at the top is NaN or infinity. A gap in a line means no number",
      ],
      ["smoothing", "as in TensorBoard's Time Series, off at first; the raw lines stay below, and all numbers are raw"],
    ],
  },
  deferred: [ChartsBody, SavedCharts],
  create: showCharts,
};

function showCharts({ store, client, drawing, isShown, show }: Around): Shown {
  const chosen = createCharts();
  const charting = fetchCharts({ store, chosen }, client, isShown);
  return {
    Choices: () => <DirectionSwitch store={store} />,
    Body: () => <ChartsBody drawing={drawing} charting={charting} client={client} />,
    Saved: () => <SavedCharts drawing={drawing} charting={charting} />,
    picture: () => import("./charts_body").then(({ chartPicture }) => chartPicture({ drawing, charting })),
    facts: () => chartedFacts(charting),
    inCard: {
      OfTensor: ({ rowKey }) => <PinButton charting={charting} pin={rowKey} show={show} />,
      OfParameters: ({ hierarchy, id }) => <PinAllButton charting={charting} hierarchy={hierarchy} id={id} />,
    },
    // A tensor that was found is added to the drawn ones, whether these are pinned or only selected.
    select(id) {
      if (store.recorded.hierarchy.value !== undefined)
        pin(charting, [...chartedPins(charting), ...pinsOf(store.recorded.hierarchy.value, id)]);
    },
    link: { read: (values) => applyCharted(chosen, readCharted(values)), write: () => chartedEntries(chartedOf(chosen)) },
    close: charting.close,
  };
}
