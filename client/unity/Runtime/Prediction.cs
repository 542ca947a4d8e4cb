using System;
using System.Runtime.InteropServices;

namespace Worldd
{
    /// <summary>
    /// Moves a state by one tick, as the server's game does: from the state before and the input alone, since a tick may be predicted many
    /// times. state has the records of the predicted components, then whatever the game needs.
    /// </summary>
    public delegate void StepFunction<TState, TInput>(ref TState state, ref TInput input, Step step) where TState : struct where TInput : struct;

    /// <summary>One call of a step function.</summary>
    public sealed class Step
    {
        internal const int MaxEffects = 8; // WD_MAX_EFFECTS
        internal readonly uint[] Effects = new uint[MaxEffects];
        internal int Count;

        /// <summary>The tick of the state after the call.</summary>
        public uint Tick { get; internal set; }

        /// <summary>Asks for a one-time effect of the tick, such as a sound: an event of type Effect says when to start it, at most once.</summary>
        public void Effect(uint key)
        {
            if (Count == MaxEffects) throw new InvalidOperationException("a tick has at most " + MaxEffects + " effects");
            Effects[Count++] = key;
        }
    }

    /// <summary>The prediction's counters: see wd_prediction in worldd.h.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct PredictionStats
    {
        internal uint Size;
        public uint Active, Predicted, Confirmed;
        public ulong Agreed, Corrected, Missed, Replayed, Stalled, Undone;
    }

    // Calls a step function for the library.
    abstract class Predictor : IDisposable
    {
        // Ahead-of-time compilers let C call static methods alone: user, a handle, leads to the predictor. This delegate lives as long as the program.
        internal static readonly Native.StepFunction Entry = Run;

        readonly GCHandle self;
        readonly Step step = new Step();
        internal Exception Failure; // of the step function: no exception may pass through C

        protected Predictor() { self = GCHandle.Alloc(this); }

        internal IntPtr User { get { return GCHandle.ToIntPtr(self); } }

        [MonoPInvokeCallback(typeof(Native.StepFunction))]
        static void Run(IntPtr call)
        {
            // wd_step: size, tick, state, input, user, effect_count, effects
            int pointer = IntPtr.Size, count = 8 + 3 * pointer;
            var p = (Predictor)GCHandle.FromIntPtr(Marshal.ReadIntPtr(call, 8 + 2 * pointer)).Target;
            p.step.Tick = (uint)Marshal.ReadInt32(call, 4);
            p.step.Count = 0;
            try { p.Move(Marshal.ReadIntPtr(call, 8), Marshal.ReadIntPtr(call, 8 + pointer), p.step); }
            catch (Exception e) { p.Failure = p.Failure ?? e; }
            Marshal.WriteInt32(call, count, p.step.Count);
            for (int i = 0; i < p.step.Count; i++) Marshal.WriteInt32(call, count + 4 + 4 * i, (int)p.step.Effects[i]);
        }

        protected abstract void Move(IntPtr state, IntPtr input, Step step);

        public virtual void Dispose() { self.Free(); }
    }

    sealed class Predictor<TState, TInput> : Predictor where TState : struct where TInput : struct
    {
        internal static readonly int StateSize = Marshal.SizeOf(typeof(TState));
        static readonly int inputSize = Marshal.SizeOf(typeof(TInput));

        readonly StepFunction<TState, TInput> step;
        readonly TState[] state = new TState[1];
        readonly TInput[] input = new TInput[1];
        readonly byte[] bytes = new byte[Math.Max(StateSize, inputSize)];
        GCHandle stateAt, inputAt;

        internal Predictor(StepFunction<TState, TInput> step)
        {
            this.step = step;
            stateAt = GCHandle.Alloc(state, GCHandleType.Pinned);
            inputAt = GCHandle.Alloc(input, GCHandleType.Pinned);
        }

        protected override void Move(IntPtr from, IntPtr held, Step call)
        {
            Copy(from, stateAt.AddrOfPinnedObject(), StateSize);
            Copy(held, inputAt.AddrOfPinnedObject(), inputSize);
            step(ref state[0], ref input[0], call);
            Copy(stateAt.AddrOfPinnedObject(), from, StateSize);
        }

        void Copy(IntPtr from, IntPtr to, int n)
        {
            Marshal.Copy(from, bytes, 0, n);
            Marshal.Copy(bytes, 0, to, n);
        }

        public override void Dispose()
        {
            base.Dispose();
            stateAt.Free();
            inputAt.Free();
        }
    }

    // Unity's ahead-of-time compiler looks for this name.
    sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type type) { }
    }
}
