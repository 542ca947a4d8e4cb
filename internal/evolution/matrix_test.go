package evolution

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// row is a change of the game, and what it does.
type row struct {
	change   string // first cell of a row of EVOLVING.md
	v1, v2   build
	image    outcome // of v1 in v2
	record   outcome // of v1 in v2
	rollback outcome // an image of v2 in v1
	old      outcome // a client of v1 on a server of v2
	new      outcome // a client of v2 on a server of v1
}

// Types of later builds.
type (
	purseRank struct {
		Gold int32
		Note string `net:"max=16"`
		Rank uint8
	}
	purseGold struct{ Gold int32 }
	lock      struct {
		Code  uint16
		Shut  bool
		Owner world.Entity `net:"ref"`
	}
	lockReorder struct {
		Owner world.Entity `net:"ref"`
		Shut  bool
		Code  uint16
	}
	purseRename struct {
		Coins int32  `was:"Gold"`
		Note  string `net:"max=16"`
	}
	purseWide struct {
		Gold int64
		Note string `net:"max=16"`
	}
	purseBytes struct {
		Gold int32
		Note []byte `net:"max=16"`
	}
	purseLong struct {
		Gold int32
		Note string `net:"max=32"`
	}
	purseFloat struct {
		Gold float32
		Note string `net:"max=16"`
	}
	seals  struct{ Seals [2]uint8 }
	seals3 struct{ Seals [3]uint8 }
	coarse struct {
		Heat float32 `net:"range=0..64,step=1"`
	}
	fine struct {
		Heat float32 `net:"range=0..128,step=1/4"`
	}
	mana    struct{ Points uint16 }
	pay     struct{ Sum uint16 }
	payTip  struct{ Sum, Tip uint16 }
	chime   struct{ Pitch uint8 }
	chime2  struct{ Pitch, Length uint8 }
	stick   struct{ X int8 }
	stickXZ struct{ X, Z int8 }
)

var (
	heavy   = world.Kind{Name: "rock", Body: &world.BodyDef{Mass: 9, Radius: 0.5, Drag: 2}}
	hero    = world.Kind{Name: "hero", Was: []string{"rock"}, Body: rock.Body}
	golem   = world.Kind{Name: "golem", Body: rock.Body}
	unused  = world.Kind{Name: "unused"}
	spirit  = world.Kind{Name: "ghost", Body: &world.BodyDef{Radius: 1}}
	boulder = world.Kind{Name: "rock", Was: []string{"golem"}, Body: rock.Body}
)

var matrix = []row{
	{
		"field added", with(component("purse", full)), with(component("purse", purseRank{7, "seven", 3}, standard(purseRank{Rank: 3}))),
		kept("field added Rank"), equal(), drops(nil, "field dropped Rank"), joins(nil), joins(values{"purse": purseRank{Gold: 7, Note: "seven"}}),
	},
	{
		"field removed", with(component("purse", full)), with(component("purse", purseGold{7})),
		drops(nil, "field dropped Note"), equal(), kept().with(values{"purse": purse{Gold: 7}}), joins(values{"purse": purse{Gold: 7}}), joins(nil),
	},
	{
		"fields reordered", with(component("lock", lock{7, true, 0})), with(component("lock", lockReorder{0, true, 7})),
		kept(), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"field renamed", with(component("purse", full)), with(component("purse", purseRename{7, "seven"})),
		kept("field renamed Coins from Gold"), equal(), drops(values{"purse": purse{Note: "seven"}}, "field dropped Coins"), joins(values{"purse": purse{Note: "seven"}}), joins(nil),
	},
	{
		"number widened, array longer", with(component("purse", full)), with(component("purse", purseWide{7, "seven"})),
		kept("field widened Gold from int32 to int64"), equal(), refused("field Gold is int64 in the image and int32 in the world"), joins(nil), joins(nil),
	},
	{
		"number widened, array longer", with(component("seals", seals{[2]uint8{1, 2}})), with(component("seals", seals3{[3]uint8{1, 2, 3}}, standard(seals3{[3]uint8{9, 9, 3}}))),
		kept("field widened Seals"), equal(), refused("field Seals"), joins(nil), joins(values{"seals": seals3{[3]uint8{1, 2}}}),
	},
	{
		"other text", with(component("purse", full)), with(component("purse", purseBytes{7, []byte("seven")})),
		kept(), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"other text", with(component("purse", full)), with(component("purse", purseLong{7, "seven"})),
		kept(), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"other type", with(component("purse", full)), with(component("purse", purseFloat{7, "seven"})),
		refused("field Gold is int32 in the image and float32 in the world", "world.Migrate"), refused(), refused("field Gold is float32"), refused(), refused(),
	},
	{
		"other type, with `Migrate`", with(component("purse", full)),
		with(component("purse", purseFloat{7, "seven"}, migrated(func(old purse) purseFloat { return purseFloat{float32(old.Gold), old.Note} }))),
		kept("migrated from evolution.purse to evolution.purseFloat"), equal(), refused("field Gold is float32"), refused(), refused(),
	},
	{
		"range, step or bits", with(component("heat", coarse{32})), with(component("heat", fine{32})),
		kept(), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"component added", with(component("purse", full)), with(component("purse", full), component("mana", mana{5})),
		kept(`component "mana": new`).with(values{"mana": nil}), equal(), drops(nil, `component "mana": dropped`), joins(nil), joins(values{"mana": nil}),
	},
	{
		"component removed", with(component("purse", full), component("mana", mana{5})), with(component("purse", full)),
		drops(nil, `component "mana": dropped`), equal(), kept().with(values{"mana": nil}), joins(values{"mana": nil}), joins(nil),
	},
	{
		"component renamed", with(component("purse", full)), with(component("wallet", full, formerly[purse]("purse"))),
		kept(`component "purse": is now component "wallet"`), equal(), drops(values{"purse": nil}, `component "wallet": dropped`), joins(values{"purse": nil}), joins(values{"wallet": nil}),
	},
	{
		"kind added", of(rock, player), of(rock, player, golem),
		kept(), equal(), refused(`2 entities are of kind "golem"`), joins(nil), joins(nil),
	},
	{
		"kind defined for clients", with(component("purse", full)), with(component("purse", full), kindOf("player", true)),
		kept(), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"kinds reordered", of(rock, player, ghost), of(ghost, rock, player),
		kept("have other numbers"), equal(), kept("have other numbers"), joins(nil), joins(nil),
	},
	{
		"kind renamed", of(rock, player), of(hero, player),
		kept(`is now kind "hero"`), equal(), refused(`kind "hero"`), joins(nil), joins(nil),
	},
	{
		"kind merged", of(rock, golem, player), of(boulder, player),
		kept(`is now kind "rock"`), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"kind removed", of(rock, player, golem), of(rock, player),
		refused(`2 entities are of kind "golem"`), refused(), kept(), joins(nil), joins(nil),
	},
	{
		"unused kind removed", of(rock, player, unused), of(rock, player),
		kept("dropped: no entity was of this kind"), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"kind gets a body", of(rock, player, ghost), of(rock, player, spirit),
		refused("which has a body only in the world"), refused(), refused("which has a body only in the image"), joins(nil), joins(nil),
	},
	{
		"constants of a kind", of(rock, player), of(heavy, player),
		kept("Mass was 2 and is now 9"), differs("since the rules differ"), kept(), joins(nil), joins(nil),
	},
	{
		"gravity, bounds, rest", with(component("purse", full)), set(func(c *world.Config) { c.Gravity = 3 }),
		kept("Gravity"), differs("since the rules differ"), kept(), joins(nil), joins(nil),
	},
	{
		"seed, grid, compaction", with(component("purse", full)), set(func(c *world.Config) { c.Seed, c.CellMetres, c.Compaction = 9, 2, world.Stable }),
		kept("Seed"), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"TickHz", with(component("purse", full)), set(func(c *world.Config) { c.TickHz = 30 }),
		kept("TickHz was 60 and is now 30"), differs("since the rules differ"), kept(), joins(nil), joins(nil),
	},
	{
		"MaxEntities", with(component("purse", full)), set(func(c *world.Config) { c.MaxEntities = 200 }),
		kept(), equal(), kept(), joins(nil), joins(nil),
	},
	{
		"MaxEntities below the entities", with(component("purse", full)), set(func(c *world.Config) { c.MaxEntities = 5 }),
		refused("6 slots"), refused(), kept(), joins(nil), joins(nil),
	},
	{
		"a rule", with(component("purse", full)), with(component("purse", full), system),
		kept(), differs(), kept(), joins(nil), joins(nil),
	},
	{
		"event added", with(), with(event("chime", chime{3})),
		kept(), equal(), kept(), joins(nil), joins(values{"chime": nil}),
	},
	{
		"command added", with(), with(command("pay", pay{3})),
		kept(), equal(), kept(), joins(values{"pay": nil}), joins(values{"pay": nil}),
	},
	{
		"event removed", with(event("chime", chime{3})), with(),
		kept(), equal(), kept(), joins(values{"chime": nil}), joins(nil),
	},
	{
		"command removed", with(command("pay", pay{3})), with(),
		kept(), equal(), kept(), joins(values{"pay": nil}), joins(values{"pay": nil}),
	},
	{
		"input added", with(), with(input(stick{-3})),
		kept(), equal(), kept(), joins(values{"input": nil}), joins(nil),
	},
	{
		"field of an event added", with(event("chime", chime{3})), with(event("chime", chime2{3, 4})),
		kept(), equal(), kept(), joins(nil), joins(values{"chime": chime2{Pitch: 3}}),
	},
	{
		"field of a command added", with(command("pay", pay{3})), with(command("pay", payTip{3, 1})),
		kept(), equal(), kept(), joins(values{"pay": payTip{Sum: 3}}), joins(nil),
	},
	{
		"field of an answer added", with(query("look", pay{3}, chime{5})), with(query("look", pay{3}, chime2{5, 6})),
		kept(), equal(), kept(), joins(nil), joins(values{"answer": chime2{Pitch: 5}}),
	},
	{
		"field of the input added", with(input(stick{-3})), with(input(stickXZ{-3, 4})),
		kept(), equal(), kept(), joins(values{"input": stickXZ{X: -3}}), joins(nil),
	},
}

// TestMatrix: each change does to files and clients what the table says.
func TestMatrix(t *testing.T) {
	for _, r := range matrix {
		t.Run(r.change, func(t *testing.T) {
			t.Run("image", r.imageOf)
			t.Run("recording", r.recordingOf)
			t.Run("rollback", r.rollbackOf)
			t.Run("old client", func(t *testing.T) { clientOf(t, r.old, r.v2, r.v1) })
			t.Run("new client", func(t *testing.T) { clientOf(t, r.new, r.v1, r.v2) })
		})
	}
}

// TestPage: the table of EVOLVING.md has the changes of the matrix, with the same outcomes, and no others.
func TestPage(t *testing.T) {
	page := must.Get(os.ReadFile("../../EVOLVING.md"))
	var listed, tested [][]string
	_, table, found := strings.Cut(string(page), "|---|---|---|---|---|---|---|\n")
	require.True(t, found, "EVOLVING.md has a table of seven columns")
	for line := range strings.SplitSeq(table, "\n") {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		listed = append(listed, cells[1:7])
	}
	for i, r := range matrix {
		cells := []string{r.change, r.image.word, r.record.word, r.rollback.word, r.old.word, r.new.word}
		if i > 0 && matrix[i-1].change == r.change { // two examples of one change
			require.Equal(t, tested[len(tested)-1], cells)
			continue
		}
		tested = append(tested, cells)
	}
	require.Equal(t, tested, listed)
}
